// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

// mostSuperseded is the number of entries in a document from which a change asks whether
// their values are still there.
const mostSuperseded = 64

// superseded returns the values that this change and those before it have replaced. A
// vacuum deletes these values, but changes no document: it would be in the way of a
// program that adds files meanwhile.
func (p *publication) superseded(ctx context.Context, d *document) ([]superseded, error) {
	f := p.manifest.folder
	if f == nil {
		return nil, nil
	}
	list := slices.Clone(f.superseded)
	if len(list) > mostSuperseded {
		var err error
		if list, err = f.present(ctx, list); err != nil {
			return nil, err
		}
	}
	if len(p.blocks.bytes) == 0 {
		return list, nil // nothing has changed
	}
	for i := range list {
		if list[i].Before == "" {
			list[i].Before = p.blocks.key
		}
	}
	keys, err := p.replaced(ctx, d)
	if len(keys) > 0 {
		list = append(list, superseded{Keys: keys})
	}
	return list, err
}

// replaced returns the values that the document before needs and this one does not.
func (p *publication) replaced(ctx context.Context, d *document) (keys []string, err error) {
	f := p.manifest.folder
	now := folder{blocks: map[string]bool{}}
	now.note(d.Sources)
	for _, n := range d.Nodes {
		now.note(n.Blocks)
	}
	for key := range f.blocks {
		if !now.blocks[key] {
			keys = append(keys, key)
		}
	}
	was := p.manifest.before()
	if was != p.manifest { // all is new
		for _, a := range was.Arrays {
			more, err := was.dataOf(ctx, a.blocks)
			if err != nil {
				return nil, err
			}
			keys = append(keys, more...)
		}
	}
	for path, blocks := range f.values {
		a := p.manifest.Array(path)
		if a == nil || len(a.blocks) > 0 {
			continue // its values stay
		}
		more, err := was.dataOf(ctx, blocks)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// dataOf returns the values of the folder that references lead to.
func (m *Manifest) dataOf(ctx context.Context, blocks []piece) (keys []string, err error) {
	last := uint32(0)
	for _, b := range blocks {
		r, err := m.folder.references(ctx, b)
		if err != nil {
			return nil, err
		}
		for _, number := range r.source {
			if number == 0 || number == last {
				continue
			}
			last = number
			s, err := m.source(ctx, number)
			if err != nil {
				return nil, err
			}
			if key, ok := m.folder.own(s.Location); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// own returns the key of a source that is a value of the folder.
func (f *folder) own(location string) (key string, ok bool) {
	if strings.Contains(location, "://") || strings.HasPrefix(location, "/") {
		return "", false
	}
	name := f.path.Name()
	return strings.CutPrefix(path.Clean(name+"/"+location), name+"/")
}

// present returns the entries with values that are still there.
func (f *folder) present(ctx context.Context, list []superseded) ([]superseded, error) {
	there := map[string]bool{}
	for _, dir := range ownFolders {
		at, err := f.path.Join(dir)
		if err != nil {
			return nil, err
		}
		for e, err := range store.List(ctx, f.store, at, false) {
			switch {
			case errors.Is(err, store.ErrUnsupported):
				return list, nil // nobody can vacuum it either
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return nil, err
			}
			there[dir+"/"+e.Name] = true
		}
	}
	var left []superseded
	for _, s := range list {
		keys := slices.DeleteFunc(slices.Clone(s.Keys), func(key string) bool { return !there[key] })
		if len(keys) > 0 {
			left = append(left, superseded{keys, s.Before})
		}
	}
	return left, nil
}

// ErrCopiesGone means that copies of chunks ([Collector.CopyPadded]) were deleted before
// the manifest was stored. Nothing was changed. Collect the files and copy them again.
var ErrCopiesGone = errors.New("copies of chunks are gone")

// checkCopies returns [ErrCopiesGone] if copies of chunks, which may have taken days, are
// gone: to a vacuum they are values that no document names.
func (m *Manifest) checkCopies(ctx context.Context, s store.Store, path store.Path) error {
	for _, c := range m.copies {
		key, err := path.Key(c.Location)
		if err != nil {
			return err
		}
		info, err := store.Stat(ctx, s, key)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size != c.Size {
			return fmt.Errorf("%w: %s was deleted before a manifest has named it, such as by a vacuum; repeat the whole, with new copies", ErrCopiesGone, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
