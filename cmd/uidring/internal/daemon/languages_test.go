package daemon

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const (
	clientsDir     = "../../../../clients/"
	batchOfClients = 500
	goodToken      = "good-good-good-good"
)

// TestClientsOutlastTheirServers has the clients of all languages but Go draw IDs from three
// servers at once. One server is killed and another one frozen under load: no call fails, no ID
// comes twice, and the two get next to no requests until the frozen one goes on.
func TestClientsOutlastTheirServers(t *testing.T) {
	takesTime(t)
	r := newRound(t)
	r.each(func(d *driver) {
		d.fails("open , "+goodToken+" 0 1000 1000 1000", "invalid")
		d.succeeds(r.open(d, "wrong-wrong-wrong", time.Minute, testkit.Patience))
		d.fails("take 1 1", "rejected 401 https://github.com/uidring/uidring/blob/main/docs/SERVICE.md#unauthorized")
		d.dropsOldIDs(r.open(d, goodToken, 100*time.Millisecond, testkit.Patience), 200*time.Millisecond)
		d.dropsOldIDs(openServers([]string{r.servers[brief].url()}, goodToken, 5*time.Second, time.Minute, testkit.Patience), 1100*time.Millisecond)
		d.outlastsLiars(r.servers[well].url())
		d.refusesRepeats(r.servers[well].url())
		d.drawsFrom(newRelay(t, r.servers[killed].url(), r.servers[well].url()))
		d.succeeds(r.open(d, goodToken, time.Minute, testkit.Patience))
		d.succeeds("take 1 1")
		if d.name == "python" {
			d.succeeds("fork 400") // with more IDs in memory
		}
	})

	stop := r.load()
	r.wait("requests", func(d *driver) bool {
		return min(d.relays[killed].requests.Load(), d.relays[frozen].requests.Load()) >= 3
	})
	r.servers[killed].Kill()
	testkit.Must(t, r.servers[frozen].Pause())
	for _, d := range r.drivers {
		d.relays[killed].requests.Store(0)
		d.relays[frozen].requests.Store(0)
		d.drawn.Store(0)
	}
	r.wait("IDs of 200 batches", func(d *driver) bool { return d.drawn.Load() >= 200*batchOfClients })
	for _, d := range r.drivers {
		for i, state := range []string{killed: "killed", frozen: "frozen"} {
			if n := d.relays[i].requests.Load(); n > 20 {
				t.Errorf("%s: %d requests to the %s server during 200 batches, allowed: 20", d.name, n, state)
			}
		}
	}
	testkit.Must(t, r.servers[frozen].Continue())
	r.wait("a share of the server that goes on", func(d *driver) bool { return d.relays[frozen].requests.Load() >= 40 })
	stop()

	testkit.Must(t, r.servers[frozen].Pause())
	testkit.Must(t, r.servers[well].Pause())
	r.each(func(d *driver) {
		d.succeeds(r.open(d, goodToken, time.Minute, time.Second))
		d.fails("take 1000000 1", "unavailable") // a signal may need a moment to stop a server
		d.fails("close", "closed")
		_ = d.program.Stdin.Close()
		if err := d.program.Wait(); err != nil {
			t.Errorf("%s: %v after close, want exit status 0", d.name, err)
		}
	})
	t.Logf("%d IDs", r.issued.Len())
}

// The servers of a round, by their fate. Clients of brief may keep IDs for a second only.
const killed, frozen, well, brief = 0, 1, 2, 3

// A round is some servers, and a client of each language.
type round struct {
	t       *testing.T
	servers []*child
	gone    string // the URL of a server that does not run
	drivers []*driver
	issued  idset.Set
}

// newRound starts servers with stores of their own, so that a frozen one holds no lock, and the
// drivers.
func newRound(t *testing.T) *round {
	r := &round{t: t}
	tokens := filepath.Join(t.TempDir(), "tokens")
	write(t, tokens, "clients "+goodToken)
	for i, maxAge := range []string{killed: "1m", frozen: "1m", well: "1m", brief: "1s"} {
		r.servers = append(r.servers, serve(t, "--store=sqlite:"+filepath.Join(testserver.DiskFolder(t), "ids.db"),
			fmt.Sprint("--datacenter=", i), "--layout=31/2/10/20@1s", "--tokens="+tokens, "--max-age="+maxAge))
	}
	r.gone = "http://" + testserver.FreeAddr(t)
	for name, commands := range languages {
		t.Run("example of "+name, func(t *testing.T) { // a missing program skips this language
			r.add(name, commands, t)
		})
	}
	return r
}

// add starts the driver of a language, after the example of its README has drawn an ID.
func (r *round) add(name string, commands commands, t *testing.T) {
	command, readme := commands(t, r.t.TempDir(), example(t, name, r.servers[well].url()))
	testkit.Succeeds(t, "an ID from the example", func() error { // on a busy machine, a server may not answer in time
		again := exec.Command(readme.Path, readme.Args[1:]...)
		again.Dir, again.Env = readme.Dir, readme.Env
		out, err := again.CombinedOutput()
		if err != nil || !exampleOutput.Match(out) {
			return fmt.Errorf("%v: %s", err, out)
		}
		return nil
	})
	d := &driver{t: r.t, name: name, issued: &r.issued}
	for i := range d.relays {
		d.relays[i] = newRelay(r.t, r.servers[i].url())
	}
	d.program = process.Run(r.t, command)
	r.drivers = append(r.drivers, d)
}

// open returns the command that makes a client.
func (r *round) open(d *driver, token string, maxAge, wait time.Duration) string {
	urls := []string{d.relays[killed].URL, d.relays[frozen].URL, r.servers[well].url()}
	if token == goodToken {
		urls = append(urls, r.gone) // which rejects no token
	}
	return openServers(urls, token, 5*time.Second, maxAge, wait)
}

func openServers(urls []string, token string, timeout, maxAge, wait time.Duration) string {
	return fmt.Sprintf("open %s %s %d %d %d %d", strings.Join(urls, ","), token, batchOfClients, timeout.Milliseconds(), wait.Milliseconds(), maxAge.Milliseconds())
}

// each calls f for all drivers at once.
func (r *round) each(f func(*driver)) {
	var group sync.WaitGroup
	for _, d := range r.drivers {
		group.Go(func() { f(d) })
	}
	group.Wait()
	if r.t.Failed() {
		r.t.FailNow()
	}
}

// load has all drivers draw IDs until stop is called.
func (r *round) load() (stop func()) {
	var ended atomic.Bool
	var group sync.WaitGroup
	for _, d := range r.drivers {
		group.Go(func() {
			for !ended.Load() && !r.t.Failed() {
				d.succeeds("take 10000 4")
			}
		})
	}
	return func() {
		ended.Store(true)
		group.Wait()
	}
}

// wait waits until something is true for all drivers.
func (r *round) wait(event string, happened func(*driver) bool) {
	r.t.Helper()
	for _, d := range r.drivers {
		testkit.Until(r.t, event+" of "+d.name, func() bool { return happened(d) || r.t.Failed() })
	}
	if r.t.Failed() {
		r.t.FailNow()
	}
}

// A driver is a program around a client of some language. It reads a command per line, and writes
// the IDs that it draws, one per line, and then "ok" or "error kind | message". The commands are:
//
//	open SERVERS TOKEN BATCH TIMEOUT WAIT MAXAGE   replaces the client; servers with commas, times in ms
//	take N TAKERS                                  draws N IDs in concurrent parts
//	close                                          closes the client while a call waits
//	fork N                                         draws N IDs in a forked child and N in the parent
type driver struct {
	t       *testing.T
	name    string
	program *process.Child
	relays  [2]*relay // to the killed and the frozen server
	issued  *idset.Set
	drawn   atomic.Int64
}

// do sends a command to the program, and counts the IDs of its answer.
func (d *driver) do(command string) (result string, ids []int64) {
	if _, err := fmt.Fprintln(d.program.Stdin, command); err != nil {
		return err.Error(), nil
	}
	for {
		text, err := d.program.Line()
		if err != nil {
			return err.Error(), ids
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			d.issued.Once(d.t, ids...)
			d.drawn.Add(int64(len(ids)))
			return text, ids
		}
		ids = append(ids, id)
	}
}

func (d *driver) succeeds(command string) []int64 {
	result, ids := d.do(command)
	if result != "ok" {
		d.t.Errorf("%s, %s: %s, want ok", d.name, command, result)
	}
	return ids
}

func (d *driver) fails(command, kind string) {
	if result, _ := d.do(command); !strings.HasPrefix(result, "error "+kind+" | ") {
		d.t.Errorf("%s, %s: %s, want error %s", d.name, command, result, kind)
	}
}

// dropsOldIDs makes a client whose IDs become too old within a time, and lets them.
func (d *driver) dropsOldIDs(open string, age time.Duration) {
	d.succeeds(open)
	first := d.succeeds("take 1 1")
	testkit.Pause(d.t.Context(), age)
	second := d.succeeds("take 1 1")
	if len(first) == 1 && len(second) == 1 && second[0] == first[0]+1 {
		d.t.Errorf("%s: %d follows %d from the same batch, which has become too old", d.name, second[0], first[0])
	}
}

// outlastsLiars has the client draw IDs while one of its servers is real, and the others are liars.
// It takes no ID of a lie, follows no redirect with its token, gives up an answer without end, and
// asks each server again. A forked child does so, too, although an answer is under way.
func (d *driver) outlastsLiars(server string) {
	l := newLiars(d.t)
	servers := []string{server}
	for path := range l.asked {
		if path != "stolen" {
			servers = append(servers, l.URL+"/"+path)
		}
	}
	d.succeeds(openServers(servers, goodToken, 2*time.Second, time.Minute, testkit.Patience))
	testkit.Until(d.t, "further requests of "+d.name, func() bool {
		for _, id := range d.succeeds("take 1000 4") {
			if id < leastID {
				d.t.Errorf("%s: ID %d of a lie", d.name, id)
			}
		}
		for path, n := range l.asked {
			if n.Load() < 2 && path != "stolen" {
				return d.t.Failed()
			}
		}
		return l.stalled.Load() || d.t.Failed()
	})
	if n := l.asked["stolen"].Load(); n > 0 || l.read.Load() >= mostRead {
		d.t.Errorf("%s: %d requests followed a redirect, %d bytes of an answer without end were read", d.name, n, l.read.Load())
	}
	if d.name == "python" {
		d.succeeds("fork 400")
	}
}

// refusesRepeats draws the first answer of a server from a proxy that repeats it, and no ID twice.
func (d *driver) refusesRepeats(server string) {
	proxy, kept := newProxy(server), httptest.NewRecorder()
	var first sync.Once
	repeater := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { proxy.ServeHTTP(kept, r) })
		maps.Copy(w.Header(), kept.Header())
		_, _ = w.Write(kept.Body.Bytes())
	}))
	d.t.Cleanup(repeater.Close)
	d.succeeds(openServers([]string{repeater.URL}, goodToken, 5*time.Second, time.Minute, 5*time.Second))
	d.succeeds(fmt.Sprintf("take %d 4", batchOfClients))
	if result, ids := d.do("take 1 1"); !refusal.MatchString(result) {
		d.t.Errorf("%s, a repeated answer: %s with IDs %d, want %s", d.name, result, ids, refusal)
	}
}

var refusal = regexp.MustCompile(`^error unavailable \| .*: invalid answer: a range of \d+ IDs from \d+, allowed: above \d+, the last ID of stream "2-\d+" from this server$`)

// drawsFrom draws 20 batches from a load balancer whose servers answer by turns. The order of their
// IDs is not the order of the answers, but the client refuses none.
func (d *driver) drawsFrom(balancer *relay) {
	d.succeeds(openServers([]string{balancer.URL}, goodToken, 5*time.Second, time.Minute, testkit.Patience))
	d.succeeds(fmt.Sprintf("take %d 4", 20*batchOfClients))
	if n := balancer.requests.Load(); n > 30 {
		d.t.Errorf("%s: %d requests to a load balancer for 20 batches, want 22", d.name, n)
	}
}

const (
	leastID  = 1 << 54  // below all IDs of a server, above all IDs in a lie
	mostRead = 32 << 20 // more than a client reads of an answer and the buffers of a connection hold
)

// lies are the answers of servers that do not belong to the service.
var lies = map[string]string{
	"page":      "<html>",
	"deep":      strings.Repeat("[", 90_000),
	"fraction":  `{"ranges":[{"first":1.5,"count":500}]}`,
	"truth":     `{"ranges":[{"first":true,"count":500}]}`,
	"odd-count": `{"ranges":[{"first":"1","count":true},{"first":"2","count":499}]}`,
	"inexact":   `{"ranges":[{"first":9007199254740993,"count":500}]}`,
	"as-text":   "1 499\n-7 1\n",
}

// liars are the servers of lies, each with a path of its own.
type liars struct {
	*httptest.Server
	asked   map[string]*atomic.Int64
	stalled atomic.Bool  // an answer is under way that does not end
	read    atomic.Int64 // of an answer without end
}

func newLiars(t *testing.T) *liars {
	l := &liars{asked: make(map[string]*atomic.Int64)}
	mux := http.NewServeMux()
	add := func(path string, answer http.HandlerFunc) {
		n := new(atomic.Int64)
		l.asked[path] = n
		mux.HandleFunc("/"+path+"/", func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			answer(w, r)
		})
	}
	for path, age := range map[string]string{"no-number": "soon", "too-late": "0"} { // with IDs that are well-formed
		add(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Uidring-Max-Age", age)
			if r.Header.Get("Accept") == "text/plain" {
				fmt.Fprintf(w, "1 %d\n", batchOfClients)
				return
			}
			fmt.Fprintf(w, `{"ranges":[{"first":"1","count":%d}]}`, batchOfClients)
		})
	}
	for path, text := range lies {
		add(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	add("talkative", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, `{"type":"x","detail":"%s"}`, strings.Repeat(`xx\n\u0041`, 6000))
	})
	add("endless", func(w http.ResponseWriter, _ *http.Request) {
		for part := make([]byte, 1<<20); l.read.Load() < mostRead; l.read.Add(int64(len(part))) {
			if _, err := w.Write(part); err != nil {
				l.read.Store(0)
				return
			}
		}
	})
	add("elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/stolen/", http.StatusFound) })
	add("stolen", http.NotFound)
	add("stalled", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"ranges":`)
		w.(http.Flusher).Flush()
		l.stalled.Store(true)
		<-r.Context().Done()
		l.stalled.Store(false)
	})
	add("slow", func(w http.ResponseWriter, r *http.Request) {
		for testkit.Pause(r.Context(), 20*time.Millisecond) {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
		}
	})
	l.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

// A relay counts the requests that it passes on to its servers.
type relay struct {
	*httptest.Server
	requests atomic.Int64
}

// newProxy passes requests on to servers by turns.
func newProxy(servers ...string) http.Handler {
	var turn atomic.Int64
	return &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(p *httputil.ProxyRequest) {
		target, _ := url.Parse(servers[turn.Add(1)%int64(len(servers))]) // of a server that was started
		p.SetURL(target)
	}}
}

func newRelay(t *testing.T, servers ...string) *relay {
	r, proxy := new(relay), newProxy(servers...)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.requests.Add(1)
		if request.Method != http.MethodPost {
			t.Errorf("a client sent %s, which a cache may answer", request.Method)
		}
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// TestTypesOfTheJavaScriptClient compiles a program that uses index.d.ts.
func TestTypesOfTheJavaScriptClient(t *testing.T) {
	compiler := testserver.Program(t, clientsDir+"javascript/node_modules/.bin/tsc", "nodejs, then make servers")
	out, err := exec.Command(compiler, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
		"--lib", "es2022,dom,dom.iterable", clientsDir+"javascript/test/types.ts").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// exampleOutput is an ID, and in JavaScript a BigInt and JSON.
var exampleOutput = regexp.MustCompile(`^[1-9][0-9]*(n \{"id":"[1-9][0-9]*"\})?\n$`)

// example returns the program in the README of a client, with the URL of a server.
func example(t *testing.T, language, server string) string {
	_, rest, _ := strings.Cut(testkit.ReadFile(t, clientsDir+language+"/README.md"), "\n```"+language+"\n")
	source, _, ok := strings.Cut(rest, "\n```\n")
	for old, now := range map[string]string{
		`"https://ids-1.example.com", "https://ids-2.example.com"`: strconv.Quote(server),
		"replace-with-a-token": goodToken,
	} {
		ok = ok && strings.Count(source, old) == 1
		source = strings.ReplaceAll(source, old, now)
	}
	if !ok {
		t.Fatalf("the README has no program in %s with two servers and a token", language)
	}
	return source
}

// commands return the commands of the driver of a language, and of the example in the README of the
// client. dir is a folder for compiled files.
type commands func(t *testing.T, dir, example string) (driver, readme *exec.Cmd)

var languages = map[string]commands{
	"python": func(t *testing.T, _, example string) (driver, readme *exec.Cmd) {
		command := func(args ...string) *exec.Cmd {
			cmd := exec.Command(testserver.Program(t, "python3", "python3"), append([]string{"-W", "error", "-B"}, args...)...)
			cmd.Dir = clientsDir + "python"
			cmd.Env = append(os.Environ(), "PYTHONPATH=src")
			return cmd
		}
		return command("tests/driver.py"), command("-c", example)
	},
	"javascript": func(t *testing.T, _, example string) (driver, readme *exec.Cmd) {
		command := func(args ...string) *exec.Cmd {
			cmd := exec.Command(testserver.Program(t, "node", "nodejs"), args...)
			cmd.Dir = clientsDir + "javascript"
			return cmd
		}
		return command("test/driver.js"), command("--input-type=module", "--eval", example)
	},
	"java": func(t *testing.T, dir, example string) (driver, readme *exec.Cmd) {
		sources, err := filepath.Glob(clientsDir + "java/src/main/java/io/github/uidring/client/*.java")
		testkit.Must(t, err)
		file := filepath.Join(dir, "Example.java")
		testkit.Must(t, os.WriteFile(file, []byte(example), 0o600))
		args := append([]string{"--release", "11", "-Xlint:all", "-Werror", "-d", dir, "-sourcepath", clientsDir + "java/src/test/java", clientsDir + "java/src/test/java/Driver.java", file}, sources...)
		if out, err := exec.Command(testserver.Program(t, "javac", "default-jdk-headless"), args...).CombinedOutput(); err != nil {
			t.Fatalf("javac: %v\n%s", err, out)
		}
		java := testserver.Program(t, "java", "default-jdk-headless")
		return exec.Command(java, "-XX:TieredStopAtLevel=1", "-cp", dir, "Driver"), exec.Command(java, "-XX:TieredStopAtLevel=1", "-cp", dir, "Example")
	},
}
