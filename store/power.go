package store

// Wrapper is a [Store] that shows the values of another one, the same under the same
// keys, and does something besides: it counts, or waits. Its type has the method of every
// power that it can pass on; which of these powers it really has, the store below says.
type Wrapper interface {
	Store
	// Unwrap returns the store below.
	Unwrap() Store
}

// As returns the power P of a store, as in As[Lister](s), and whether it has that power:
// its type has the methods, and where it is a [Wrapper] so has the store below. A plain
// type assertion would find powers that a wrapper merely passes on.
func As[P any](s Store) (power P, ok bool) {
	p, ok := s.(P)
	if !ok {
		return power, false
	}
	if w, wraps := s.(Wrapper); wraps {
		if _, ok := As[P](w.Unwrap()); !ok {
			return power, false
		}
	}
	return p, true
}

// Driver returns the store below all wrappers, s itself where it is none.
func Driver(s Store) Store {
	for {
		w, ok := s.(Wrapper)
		if !ok {
			return s
		}
		s = w.Unwrap()
	}
}
