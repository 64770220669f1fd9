package codec

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"varve.dev/zarr/metadata"
)

// Factory makes a codec from its configuration, a JSON object or nil where the metadata
// has none. It returns an [ArrayArray], [ArrayBytes] or [BytesBytes]. A configuration
// with an unknown member is refused with an error that wraps [ErrConfiguration].
type Factory func(configuration []byte) (any, error)

// Registry maps names to codecs. The zero Registry is empty. It may be used from several
// goroutines at once.
type Registry struct {
	mu     sync.RWMutex
	byName map[string]Factory
}

// Default is the registry that arrays use unless told otherwise. Importing a codec's
// package registers it here.
var Default = new(Registry)

// Register adds a codec to the default registry. It panics where the name is taken: two
// packages then claim one name.
func Register(name string, f Factory) { Default.Register(name, f) }

// Register adds a codec under a name; it panics where the name is taken.
func (r *Registry) Register(name string, f Factory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.byName[name]; taken {
		panic(fmt.Sprintf("codec: %q is registered twice", name))
	}
	if r.byName == nil {
		r.byName = make(map[string]Factory)
	}
	r.byName[name] = f
}

// Names returns the registered names in alphabetical order.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.byName))
}

// New makes the codec that ext describes. An unknown name wraps [ErrUnsupported],
// whatever must_understand says: bytes that went through an unknown codec cannot be
// understood.
func (r *Registry) New(ext metadata.Extension) (any, error) {
	made, err := r.make(ext)
	if err != nil {
		return nil, fmt.Errorf("codec %q: %w", ext.Name, err)
	}
	return made, nil
}

// make is New for callers who say themselves which codec an error is of.
func (r *Registry) make(ext metadata.Extension) (any, error) {
	r.mu.RLock()
	f, ok := r.byName[ext.Name]
	r.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%w: codec %q (import its package or register it)", ErrUnsupported, ext.Name)
	}
	return f(ext.Configuration)
}
