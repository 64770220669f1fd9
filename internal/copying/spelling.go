// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// spellings are the names of values and directories at the destination. A store may
// silently ignore case, change the Unicode form, end a name at a space, or split it at
// a backslash. Then the values of two nodes would become those of one. At least one of
// two names that a store confuses is not plain. The names of chunks are not recorded:
// no store confuses them, and there may be millions.
type spellings struct {
	mu    sync.Mutex
	names map[string]bool // whether the name is plain
}

// add notes what was stored under a key below the destination.
func (s *spellings) add(rel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]bool{}
	}
	end := 0
	for seg := range strings.SplitSeq(rel, "/") {
		if end += len(seg); !isChunk(seg) {
			s.names[rel[:end]] = isPlain(seg)
		}
		end++
	}
}

// isChunk reports whether a name may be that of a chunk, or of a directory of chunks that
// has a number.
func isChunk(name string) bool {
	return strings.Trim(strings.TrimPrefix(name, "c."), "0123456789.") == ""
}

// isPlain reports whether no store confuses a name with another plain name.
func isPlain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		case c == '.' && i+1 < len(name):
		default:
			return false
		}
	}
	return true
}

// AddName notes what was stored under a key below the destination.
func (c *Copy) AddName(rel string) { c.names.add(rel) }

// VerifyNames returns an error unless the destination lists all names as they were
// written, in directories where they are not all plain.
func (c *Copy) VerifyNames(ctx context.Context) error {
	s := &c.names
	s.mu.Lock()
	defer s.mu.Unlock()
	in, doubtful := map[string][]string{}, map[string]bool{}
	for name, plain := range s.names {
		dir, base := path.Split(name)
		in[dir] = append(in[dir], base)
		doubtful[dir] = doubtful[dir] || !plain
	}
	for _, dir := range slices.Sorted(maps.Keys(in)) {
		if !doubtful[dir] {
			continue
		}
		there := map[string]bool{}
		for e, err := range store.List(ctx, c.Target.Store, c.Target.Path.MustKey(dir+"-").Dir(), store.Flat) {
			if errors.Is(err, store.ErrUnsupported) {
				return nil
			}
			if err != nil {
				return err
			}
			there[e.Name] = true
		}
		for _, name := range slices.Sorted(slices.Values(in[dir])) {
			// A chunk that is not noted may have taken the place of this name.
			if twin := strings.ToLower(name); twin != name && isChunk(twin) && !there[twin] {
				if found, err := Exists(ctx, c.Target.Store, c.Target.Path, dir+twin); found || err != nil {
					return cmp.Or(err, misspelled(dir+twin))
				}
			}
			if !there[name] {
				return misspelled(dir + name)
			}
		}
	}
	return nil
}

// misspelled is the error for a name that the destination does not list.
func misspelled(name string) error {
	return fmt.Errorf("%w: the destination does not list %q under this name: there it is one with another name that differs in case, Unicode form or a separator, "+
		"or another program has removed it; rename one of the two, or choose another destination", zarr.ErrInvalidArgument, name)
}
