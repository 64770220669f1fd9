// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
)

// Factory makes a codec from its configuration: a JSON object, or nil if the metadata has
// none. It returns an [ArrayArray], [ArrayBytes] or [BytesBytes]. If the configuration is
// invalid or has an unknown member, the error wraps [ErrConfiguration].
type Factory func(configuration []byte) (any, error)

// Registry maps names to codecs. The zero Registry is empty. It is safe for concurrent
// use.
type Registry struct {
	mu     sync.RWMutex
	byName map[string]Factory
}

// Default is the registry that arrays use by default. Importing the package of a codec
// registers it here.
var Default = new(Registry)

// Register adds a codec to the default registry. It panics if the name is taken, because
// two packages then claim one name.
func Register(name string, f Factory) { Default.Register(name, f) }

// Register adds a codec under a name. It panics if the name is taken.
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

// New makes the codec that ext describes. If the name is unknown, the error wraps
// [ErrUnsupported], regardless of must_understand: no program can decode an unknown
// codec. Errors of the factory are returned as they are.
func (r *Registry) New(ext metadata.Extension) (any, error) {
	r.mu.RLock()
	f, ok := r.byName[ext.Name]
	r.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%w: codec %q"+remedy.Register, ErrUnsupported, ext.Name)
	}
	return f(ext.Configuration)
}
