package metrics

import (
	"errors"
	"expvar"
	"fmt"
)

// ErrNameInUse is returned by [Publish] for a name that expvar knows already.
var ErrNameInUse = errors.New("metrics: name in use")

// Publish shows a generator's Stats by expvar, under /debug/vars, as an object whose keys are the
// names of the metrics. They are read anew each time somebody looks. A name that is in use gives
// ErrNameInUse. What was published stays for the life of the process: publish generators that live
// as long.
func Publish[S Stats](name string, stats func() S) (err error) {
	if name == "" {
		return errors.New("metrics: Publish: name empty, allowed: any other, such as \"ids\"")
	}
	inUse := fmt.Errorf("%w: expvar has a variable %q; give each generator a name of its own", ErrNameInUse, name)
	if expvar.Get(name) != nil {
		return inUse
	}
	defer func() {
		if recover() != nil { // how expvar says that somebody has taken the name meanwhile
			err = inUse
		}
	}()
	all := All[S]()
	expvar.Publish(name, expvar.Func(func() any {
		s := stats()
		values := make(map[string]float64, len(all))
		for _, m := range all {
			if v, ok := m.Value(s); ok {
				values[m.Name] = v
			}
		}
		return values
	}))
	return nil
}
