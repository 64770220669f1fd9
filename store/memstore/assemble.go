// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"fmt"
	"math"

	"varve.dev/zarr/store"
)

// Assemble implements [store.Assembler]. It builds the new value without holding the lock
// of the store.
func (s *Store) Assemble(
	ctx context.Context, key store.Key, parts []store.Part, _ store.Durability,
) (store.Version, error) {
	var data []byte
	n, err := store.AssembledSize(parts)
	if err == nil {
		var sources map[store.Key]value
		if sources, err = s.sources(ctx, parts); err == nil {
			data, err = build(n, parts, sources)
		}
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("memory: %s: %w", key, err)
	}
	return s.set(ctx, key, &storage{data: data}, anyway)
}

// sources returns the values that parts take bytes from, one version of each.
func (s *Store) sources(ctx context.Context, parts []store.Part) (map[store.Key]value, error) {
	sources := map[store.Key]value{}
	for _, p := range parts {
		if p.Data != nil {
			continue
		}
		v, seen := sources[p.Key]
		if !seen {
			var err error
			if v, err = s.source(ctx, p.Key, p.Version); err != nil {
				return nil, err
			}
			sources[p.Key] = v
		}
		if !p.Version.IsZero() && p.Version != v.version {
			return nil, conflict(p.Key)
		}
		if err := p.Within(int64(len(v.data))); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// build returns the n bytes of parts, which lie within their sources.
func build(n int64, parts []store.Part, sources map[store.Key]value) (data []byte, err error) {
	if n > math.MaxInt {
		return nil, fmt.Errorf("%w: %d bytes", store.ErrTooLarge, n)
	}
	data = make([]byte, 0, n)
	for _, p := range parts {
		if p.Data != nil {
			data = append(data, p.Data...)
		} else if data, err = sources[p.Key].read(p.Key, store.Request{Range: store.Span(p.Off, p.N)}, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}
