package main

import (
	"slices"
	"strings"
)

// several defines a flag for a list of names, separated by commas. The result is in the order of allowed.
func (p *parser) several(name string, dst *[]string, allowed []string) {
	p.value(name, func(text string) {
		asked := strings.Split(text, ",")
		for _, one := range asked {
			if !slices.Contains(allowed, one) {
				p.mistake("-%s %q, allowed: %s, or several of them with commas", name, one, strings.Join(allowed, ", "))
			}
		}
		*dst = slices.DeleteFunc(slices.Clone(allowed), func(one string) bool { return !slices.Contains(asked, one) })
	})
}
