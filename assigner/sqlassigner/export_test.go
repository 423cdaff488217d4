package sqlassigner

// FactFor is the time for which facts count.
var FactFor = &factFor
