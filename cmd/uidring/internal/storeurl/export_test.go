package storeurl

// Schemes returns the schemes of all URLs that Open accepts.
func Schemes() (schemes []string) {
	for _, k := range kinds() {
		schemes = append(schemes, k.schemes...)
	}
	return schemes
}
