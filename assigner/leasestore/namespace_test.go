package leasestore

import (
	"strings"
	"testing"
)

func TestCheckNamespace(t *testing.T) {
	for name, ok := range map[string]bool{
		"azAZ09._-": true, strings.Repeat("n", 64): true, strings.Repeat("n", 65): false, "": false,
		"`": false, "{": false, "@": false, "[": false, "/": false, ":": false, ",": false, "\u00e9": false, "..": false, ".a": true,
	} {
		if err := CheckNamespace(name); (err == nil) != ok {
			t.Errorf("CheckNamespace(%q) = %v, want it allowed: %v", name, err, ok)
		}
	}
}

func TestCheckNamespaceTwin(t *testing.T) {
	for _, tt := range []struct {
		name, other string
		refused     bool
	}{
		{"orders", "orders", false},
		{"orders", "orders2", false},
		{"orders", "Orders", true},
		{"ORDERS-1.eu", "orders-1.EU", true},
		{"orders", "orders ", true},
		{"orders", " orders", false},
	} {
		err := CheckNamespaceTwin(tt.name, tt.other)
		if (err != nil) != tt.refused {
			t.Errorf("CheckNamespaceTwin(%q, %q): %v; want an error: %v", tt.name, tt.other, err, tt.refused)
		}
		if tt.refused && (!strings.Contains(err.Error(), tt.name) || !strings.Contains(err.Error(), tt.other)) {
			t.Errorf("CheckNamespaceTwin(%q, %q): %v; want both names", tt.name, tt.other, err)
		}
	}
}
