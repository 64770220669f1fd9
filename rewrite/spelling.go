// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// spellings are the names at the destination, values and directories, that a store could
// take for another one. Stores may ignore case, change the Unicode form, end a name at a
// space, or split it at a backslash, and say nothing: the values of two nodes would
// become those of one. No store changes plain names, such as those of chunks. Their
// directories are few.
type spellings struct {
	mu    sync.Mutex
	names map[string]struct{}
}

// add notes what was stored under a key below the destination.
func (s *spellings) add(rel string) {
	if isOneSpelling(rel) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]struct{}{}
	}
	end := 0
	for seg := range strings.SplitSeq(rel, "/") {
		if end += len(seg); !isOneSpelling(seg) {
			s.names[rel[:end]] = struct{}{}
		}
		end++
	}
}

// isOneSpelling reports whether no store gives the segments of a key another spelling, or
// changes another one to them.
func isOneSpelling(rel string) bool {
	for i := range len(rel) {
		switch c := rel[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-', c == '/':
		case c == '.' && i+1 < len(rel) && rel[i+1] != '/':
		default:
			return false
		}
	}
	return true
}

// verify returns an error unless the destination lists all names as they were written.
func (s *spellings) verify(ctx context.Context, to store.Store, goal store.Path) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := map[string][]string{}
	for name := range s.names {
		dir, base := split(name)
		in[dir] = append(in[dir], base)
	}
	for _, dir := range slices.Sorted(maps.Keys(in)) {
		there := map[string]bool{}
		for e, err := range store.List(ctx, to, goal.MustKey(dir+"-").Dir(), false) {
			if errors.Is(err, store.ErrUnsupported) {
				return nil
			}
			if err != nil {
				return err
			}
			there[e.Name] = true
		}
		for _, name := range slices.Sorted(slices.Values(in[dir])) {
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

// checkUnlisted refuses to store what the destination has under a name that it does not
// list: that of another node.
func (c *copier) checkUnlisted(ctx context.Context, rel string, to store.Key) error {
	if isOneSpelling(rel) {
		return nil
	}
	found, err := store.Exists(ctx, c.to, to)
	if err == nil && found {
		err = misspelled(rel)
	}
	return err
}
