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
