package storeurl

// Schemes returns the schemes of all URLs that Open accepts.
var Schemes = schemes

// DialRedis returns the client that a URL leads to.
var DialRedis = dialRedis
