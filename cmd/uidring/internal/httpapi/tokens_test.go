package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseTokensReadsNamesAndTokens(t *testing.T) {
	tokens := newTokens(t, "# who may draw\r\n\r\nshop \t 0123456789abcdef\n  #shop old\nshop-2.b_C Az09-._~+/=xxxxx\nshop "+strings.Repeat("z", 512))
	for secret, want := range map[string]int{
		"0123456789abcdef": 0, "Az09-._~+/=xxxxx": 1, strings.Repeat("z", 512): 2,
		"": -1, "0123456789abcdeF": -1, "0123456789abcde": -1, "0123456789abcdef0": -1, "shop": -1,
	} {
		if got := tokens.find(secret); got != want {
			t.Errorf("token %q is number %d, want %d", secret, got, want)
		}
	}
	if names := []string{tokens.known[0].name, tokens.known[1].name, tokens.known[2].name}; fmt.Sprint(names) != "[shop shop-2.b_C shop]" {
		t.Errorf("names %v", names)
	}
}

// A token whose hash differs in a single bit is another token.
func TestTokensAreComparedByTheWholeHash(t *testing.T) {
	for i := range 256 {
		tokens := newTokens(t, "shop 0123456789abcdef")
		tokens.known[0].hash[i/8] ^= 1 << (i % 8)
		if got := tokens.find("0123456789abcdef"); got != -1 {
			t.Errorf("a hash that differs in bit %d is found as token %d", i, got)
		}
	}
}

func TestParseTokensReportsAllMistakesAtOnce(t *testing.T) {
	const secret = "s3cr3t-s3cr3t-s3cr3t"
	file := strings.Join([]string{
		secret,
		"a " + secret,
		"b " + secret + " # mine",
		"c s3cr3t-",
		"c s3cr3t-s3cr3t-é",
		"c!d " + strings.Repeat("s3cr3t", 100),
		secret + secret + secret + secret + " d",
		"e " + secret,
	}, "\n")
	want := `token file, line 1: 1 words, allowed: a name and a token
token file, line 3: 4 words, allowed: a name and a token
token file, line 4: a token of 7 bytes, allowed: 16 to 512
token file, line 5: a token with other characters than letters, digits and - . _ ~ + / =
token file, line 6: a name of 3 bytes, allowed: up to 64 letters, digits and . _ -
a token of 600 bytes, allowed: 16 to 512
token file, line 7: a name of 80 bytes, allowed: up to 64 letters, digits and . _ -
a token of 1 bytes, allowed: 16 to 512
token file, line 8: the token of line 2 again, allowed: each token once`
	tokens, err := ParseTokens([]byte(file))
	if err == nil || err.Error() != want {
		t.Errorf("ParseTokens:\n%v\nwant:\n%s", err, want)
	}
	if tokens.Len() != 0 {
		t.Errorf("%v with an error, want none", tokens)
	}
}

// TestParseTokensIsBounded: an empty set would let all clients in.
func TestParseTokensIsBounded(t *testing.T) {
	for _, file := range []string{"", "\n\n", "# shop 0123456789abcdef\n"} {
		if tokens, err := ParseTokens([]byte(file)); err == nil {
			t.Errorf("ParseTokens(%q) = %v, want an error", file, tokens)
		}
	}
	var file strings.Builder
	for i := range mostTokens {
		fmt.Fprintf(&file, "n%d %016d\n", i, i)
	}
	if tokens := newTokens(t, file.String()); tokens.Len() != mostTokens {
		t.Errorf("%v, want 1000", tokens)
	}
	if _, err := ParseTokens([]byte(file.String() + "one more-more-more-more")); err == nil || err.Error() != "token file: 1001 tokens, allowed: at most 1000" {
		t.Errorf("ParseTokens of 1,001 tokens: %v", err)
	}
}

func TestTokensAreNotPrinted(t *testing.T) {
	const secret = "0123456789abcdef"
	tokens := newTokens(t, "shop "+secret)
	for _, format := range []string{"%v", "%+v", "%s", "%#v"} {
		if text := fmt.Sprintf(format, tokens); strings.Contains(text, secret) {
			t.Errorf("%s prints %s", format, text)
		}
	}
	if text := tokens.String(); text != "tokens: 1" {
		t.Errorf("String() = %q", text)
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("shop 0123456789abcdef\n"), "0123456789abcdef")
	f.Fuzz(func(t *testing.T, file []byte, secret string) {
		tokens, err := ParseTokens(file)
		if err == nil != (tokens.Len() > 0) {
			t.Errorf("%v, %v: want tokens or an error", tokens, err)
		}
		if i := tokens.find(secret); i >= 0 && !strings.Contains(string(file), secret) {
			t.Errorf("token %q of %q is not in the file", secret, tokens.known[i].name)
		}
	})
}
