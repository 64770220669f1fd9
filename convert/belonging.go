// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Other programs keep files of their own in a hierarchy: SpatialData has tables in
// Parquet beside its arrays. A conversion copies them as they are.

// strays are the values that belong to no node.
type strays struct {
	pair      *copying.Copy
	members   map[string]*member // by their directories
	derives   bool               // see [Derive]
	count     *tally
	left      int64    // those that are not copied
	leftNames []string // the first of these
}

func newStrays(c *conversion) *strays {
	s := &strays{pair: c.pair, members: map[string]*member{}, derives: c.derivation != nil, count: &c.count}
	for _, m := range c.survey.members {
		s.members[strings.TrimPrefix(m.Path+"/", "/")] = m
	}
	return s
}

// copyOthers copies the values that belong to no node, and counts them. A dry run only
// counts.
func (s *strays) copyOthers(ctx context.Context) error {
	v := s.pair.NewValues()
	g, within := parallel.New(ctx)
	g.SetLimit(copying.Workers(&s.pair.Options.Options))
	var listed error
	for rel, err := range s.others(within) {
		if err != nil {
			listed = err
			break
		}
		g.Go(func() error { return s.countedFile(s.copyOther(within, v, rel)) })
		if within.Err() != nil {
			break
		}
	}
	return v.End(ctx, g.Wait(listed))
}

func (s *strays) copyOther(ctx context.Context, v *copying.Values, rel string) (int64, error) {
	if s.pair.DryRun {
		info, err := store.Stat(ctx, s.pair.Source.Store, s.pair.Source.Path.MustKey(rel))
		return info.Size, err
	}
	return v.Copy(ctx, s.pair.Target.Path.MustKey(rel), s.pair.Source.Path.MustKey(rel))
}

// countedFile counts a value that belongs to no node.
func (s *strays) countedFile(n int64, err error) error {
	if err == nil {
		s.count.mu.Lock()
		s.count.files++
		s.count.mu.Unlock()
	}
	return s.count.value(n, err)
}

// mostLeftNames bounds the names of values that a conversion leaves out.
const mostLeftNames = 10

// others yields the values that belong to no node, relative to the converted one: neither
// documents nor chunks, nor what Varve keeps for itself. It counts those that would
// become part of a node. In a store that cannot be listed they are not known.
func (s *strays) others(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s.left, s.leftNames = 0, nil
		for e, err := range store.List(ctx, s.pair.Source.Store, s.pair.Source.Path, store.Deep) {
			if errors.Is(err, store.ErrUnsupported) {
				return
			}
			what := alien
			if err == nil {
				what, err = s.belongingOf(ctx, e.Name)
			}
			if what == lookalike {
				if s.left++; s.left <= mostLeftNames {
					s.leftNames = append(s.leftNames, e.Name)
				}
			}
			if err == nil && what != alien {
				continue
			}
			if !yield(e.Name, err) || err != nil {
				return
			}
		}
	}
}

// belonging is what a value is to the nodes of a hierarchy.
type belonging int

const (
	alien     belonging = iota // it belongs to none
	part                       // it belongs to one, or is Varve's own
	lookalike                  // it belongs to none, but would in another format or key encoding
)

// belongingOf returns the belonging of a value.
func (s *strays) belongingOf(ctx context.Context, rel string) (belonging, error) {
	if _, isOwn := copying.Record(rel); isOwn {
		return part, nil
	}
	dir, name := path.Split(rel)
	if m := s.members[dir]; m != nil && slices.Contains(copying.DocumentNames, name) {
		if slices.Contains(m.ownDocuments(), name) {
			return part, nil
		}
		return lookalike, nil
	}
	owner := s.members[""]
	for end := 0; owner.Kind != "array"; {
		i := strings.IndexByte(rel[end:], '/')
		if i < 0 {
			return alien, nil
		}
		end += i + 1
		if next := s.members[rel[:end]]; next != nil {
			owner = next
		}
	}
	// Derive copies all values below an array that it does not make anew.
	if s.derives && owner.derived == nil {
		return part, nil
	}
	return s.chunkBelonging(ctx, owner, strings.TrimPrefix(rel, strings.TrimPrefix(owner.Path+"/", "/")))
}

// ownDocuments returns the names of the documents that a node of its format may have.
func (m *member) ownDocuments() []string {
	switch {
	case m.From == 3:
		return []string{nodename.V3Node}
	case m.Kind == "group":
		return []string{nodename.V2Group, nodename.V2Attributes, nodename.V2Consolidated}
	}
	return []string{nodename.V2Array, nodename.V2Attributes}
}

// chunkBelonging returns the belonging of a key below an array to its chunks.
func (s *strays) chunkBelonging(ctx context.Context, m *member, rest string) (belonging, error) {
	doc := m.node.(*metadata.Array)
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if _, ok := keys.ParseKey(rest, len(doc.Shape), nil); ok || err != nil && copying.IsChunkKey(rest, len(doc.Shape)) {
		return part, nil
	}
	if !copying.IsChunkKey(rest, len(doc.Shape)) {
		return alien, nil
	}
	// A rechunk leaves the chunks of the old grid under the keys of another encoding.
	for _, err := range store.List(ctx, s.pair.Source.Store, m.path.MustKey(own.Dir+"/-").Dir(), store.Flat) {
		return part, err
	}
	return lookalike, nil
}
