package storeurl

// Schemes returns the schemes of all URLs that Open accepts.
var Schemes = schemes
