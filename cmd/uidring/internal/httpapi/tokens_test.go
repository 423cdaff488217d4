package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseTokensReadsNamesAndTokens(t *testing.T) {
	tokens := newTokens(t, "# who may draw\r\n\r\nshop \t 0123456789abcdef\n  #shop old\nshop-2.b_C Az09-._~+/=xxxxx\nshop "+strings.Repeat("z", 512))
	for secret, want := range map[string]string{
		"0123456789abcdef": "shop", "Az09-._~+/=xxxxx": "shop-2.b_C", strings.Repeat("z", 512): "shop",
		"": "", "0123456789abcdeF": "", "0123456789abcde": "", "0123456789abcdef0": "", "shop": "",
	} {
		if got, ok := tokens.find(secret); got != want || ok != (want != "") {
			t.Errorf("token %q is of %q, want %q", secret, got, want)
		}
	}
	for _, format := range []string{"%v", "%+v", "%s", "%#v"} {
		if text := fmt.Sprintf(format, tokens); strings.Contains(text, "0123456789abcdef") {
			t.Errorf("%s prints %s", format, text)
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
	if err == nil || err.Error() != want || tokens.Len() != 0 {
		t.Errorf("ParseTokens: %v and\n%v\nwant:\n%s", tokens, err, want)
	}
}

// An empty set would let all clients in.
func TestParseTokensIsBounded(t *testing.T) {
	var file strings.Builder
	for i := range mostTokens {
		fmt.Fprintf(&file, "n%d %016d\n", i, i)
	}
	newTokens(t, file.String())
	for _, file := range []string{"", "\n\n", "# shop 0123456789abcdef\n", file.String() + "one more-more-more-more"} {
		if tokens, err := ParseTokens([]byte(file)); err == nil {
			t.Errorf("ParseTokens(%.50q) = %v, want an error", file, tokens)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("shop 0123456789abcdef\n"), "0123456789abcdef")
	f.Fuzz(func(t *testing.T, file []byte, secret string) {
		tokens, err := ParseTokens(file)
		if err == nil != (tokens.Len() > 0) {
			t.Errorf("%v, %v: want tokens or an error", tokens, err)
		}
		if name, ok := tokens.find(secret); ok && !strings.Contains(string(file), secret) {
			t.Errorf("token %q of %q is not in the file", secret, name)
		}
	})
}
