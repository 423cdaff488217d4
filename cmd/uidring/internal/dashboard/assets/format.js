// How numbers, durations and instants are written. Times are UTC, as in the service's logs.

const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const tenths = new Intl.NumberFormat('en', {minimumFractionDigits: 1, maximumFractionDigits: 1});

// integer takes a number, or a string where it may be above 2^53.
export const integer = (n) => whole.format(typeof n === 'string' ? BigInt(n) : n);

export const rate = (perSecond) => (perSecond > 0 && perSecond < 10 ? tenths : whole).format(perSecond);

export const percent = (share) => `${tenths.format(share)} %`;

const year = 365.2425 * 86400;
const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

// duration takes seconds and gives the two largest units: "420 ms", "12.5 s", "4 min 5 s", "3 d 2 h", "8.5 years".
export function duration(seconds) {
  const n = Math.abs(seconds);
  if (n === 0) return '0 s';
  if (n < 0.9995) return `${Math.max(1, Math.round(n * 1000))} ms`;
  const tenth = Math.round(n * 10) / 10;
  if (tenth < 60) return `${Number.isInteger(tenth) ? tenth : tenths.format(tenth)} s`;
  if (n >= year) return `${(n < 100 * year ? tenths : whole).format(n / year)} years`;
  for (let i = units.length - 2; ; i--) { // a rounded 59 min 59.7 s is an hour
    const [[name, size], [restName, restSize]] = [units[i], units[i + 1]];
    const total = Math.round(n / restSize) * restSize;
    if (i > 0 && total >= units[i - 1][1]) continue;
    const rest = (total % size) / restSize;
    return `${Math.floor(total / size)} ${name}${rest ? ` ${rest} ${restName}` : ''}`;
  }
}

// signed is a duration with its sign: "+1.5 s", "−12 s".
export const signed = (seconds) => (seconds > 0 ? '+' : seconds < 0 ? '−' : '') + duration(seconds);

// distance says where an instant lies, both in seconds since 1970.
export function distance(instant, now) {
  const seconds = instant - now;
  if (Math.abs(seconds) < 1) return 'now';
  return seconds < 0 ? `${duration(Math.round(-seconds))} ago` : `in ${duration(Math.round(seconds))}`;
}

// clock is the time of day of seconds since 1970.
export const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);

// instant takes an RFC 3339 text in UTC, or seconds since 1970. Fractions of a second are kept where there are any.
export function instant(t) {
  const text = typeof t === 'number' ? new Date(t * 1000).toISOString() : t;
  return `${text.replace('T', ' ').replace('Z', '').replace(/\.0+$/, '')} UTC`;
}
