package metrics

import (
	"errors"
	"expvar"
	"fmt"
)

// ErrNameInUse is returned by [Publish] for a name that expvar has already.
var ErrNameInUse = errors.New("metrics: name in use")

// Publish shows a generator's Stats by expvar, under /debug/vars, as an object whose keys are the
// names of the metrics. Each request reads them anew. A name in use gives [ErrNameInUse]; an empty
// name, a stats that is nil, and Stats without metrics give another error. expvar cannot unpublish
// a variable: publish only generators that live as long as the process.
func Publish[S Stats](name string, stats func() S) (err error) {
	if name == "" {
		return errors.New("metrics: Publish: name empty, allowed: any other, such as \"ids\"")
	}
	all := All[S]()
	if stats == nil || len(all) == 0 {
		return fmt.Errorf("metrics: Publish: stats %T (nil: %t), allowed: the method Stats of a generator, or a func whose result embeds its Stats, no pointer", stats, stats == nil)
	}
	inUse := fmt.Errorf("%w: expvar has a variable %q; give each generator a name of its own", ErrNameInUse, name)
	if expvar.Get(name) != nil {
		return inUse
	}
	defer func() {
		if recover() != nil { // expvar panics if another goroutine has published the name meanwhile
			err = inUse
		}
	}()
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
