module github.com/uidring/uidring/bench

go 1.26.0

require github.com/uidring/uidring v0.0.0

replace github.com/uidring/uidring => ..
