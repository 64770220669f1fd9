// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/store"
)

// Assemble implements [store.Assembler]. The service copies long ranges, each from the
// version that was looked at. Short ones are read and uploaded. A value of at most four
// parts is joined in memory.
func (s *Store) Assemble(
	ctx context.Context, key store.Key, parts []store.Part, _ store.Durability,
) (store.Version, error) {
	name, err := s.key(key)
	if err != nil {
		return store.Version{}, err
	}
	if _, err := store.AssembledSize(parts); err != nil {
		return store.Version{}, err
	}
	from, err := s.segments(ctx, parts)
	if err != nil {
		return store.Version{}, err
	}
	return s.write(ctx, name, from, condition{})
}

// segments returns the pieces of the parts. It checks the sources of parts without bytes,
// which nothing else will.
func (s *Store) segments(ctx context.Context, parts []store.Part) (segments, error) {
	var from segments
	sources := map[store.Key]*source{}
	for i, p := range parts {
		if p.Data != nil {
			from = append(from, segment{data: pieces{p.Data}})
			continue
		}
		x := sources[p.Key]
		if x == nil {
			x = s.source(p.Key, p.Version)
			sources[p.Key] = x
		}
		switch {
		case x.want.IsZero():
			x.want = p.Version
		case !p.Version.IsZero() && p.Version != x.want:
			return nil, x.replaced()
		}
		if i > 0 && p.Continues(parts[i-1]) && len(from) > 0 && from[len(from)-1].source == x {
			from[len(from)-1].n += p.N
			continue
		}
		from = append(from, segment{source: x, off: p.Off, n: p.N})
	}
	return from, nil
}

// write writes an object of segments: joined in memory if it is small.
func (s *Store) write(ctx context.Context, name string, from segments, cond condition) (store.Version, error) {
	small := from.size() <= singleParts*s.options.PartSize
	like, err := s.check(ctx, from, small)
	if err != nil {
		return store.Version{}, err
	}
	if !small {
		return s.upload(ctx, name, from, cond, like)
	}
	data, err := from.read(ctx)
	if err != nil {
		return store.Version{}, err
	}
	return s.put(ctx, name, data, cond)
}

// check looks at the sources of segments before anything is written: at all, or at those
// that are not read if small is set. It returns the description of the first.
func (s *Store) check(ctx context.Context, from segments, small bool) (like *s3.HeadObjectOutput, err error) {
	looks := make([]segment, 0, len(from))
	for _, g := range from {
		if g.source != nil && (!small || g.n == 0) {
			looks = append(looks, g)
		}
	}
	err = each(ctx, len(looks), readsAtOnce, func(ctx context.Context, i int) error {
		g := looks[i]
		head, err := g.source.look(ctx)
		if err != nil {
			return err
		}
		return store.Part{Key: g.source.key, Off: g.off, N: g.n}.Within(value(head.ContentLength))
	})
	if err != nil || small || len(looks) == 0 {
		return nil, err
	}
	return looks[0].source.look(ctx)
}

// Splice implements [store.Splicer].
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, _ store.Durability,
) (store.Version, error) {
	name, err := s.key(key)
	if err != nil {
		return store.Version{}, err
	}
	cond, err := conditionOf(store.IfVersion(from))
	if err == nil {
		err = s.needs(ctx, writesOnConditions)
	}
	if err != nil {
		return store.Version{}, err
	}
	x := s.source(key, from)
	head, err := x.look(ctx)
	if err != nil {
		return store.Version{}, err
	}
	if _, err := store.SplicedSize(value(head.ContentLength), fragments); err != nil {
		return store.Version{}, fmt.Errorf("%s: %w", s.name(call{key: name}), err)
	}
	var all segments
	for _, f := range fragments {
		if f.Data != nil {
			all = append(all, segment{data: pieces{f.Data}})
		} else if f.N > 0 {
			all = append(all, segment{source: x, off: f.Off, n: f.N})
		}
	}
	return s.write(ctx, name, all, cond)
}

var (
	_ store.Assembler = (*Store)(nil)
	_ store.Splicer   = (*Store)(nil)
)
