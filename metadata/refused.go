package metadata

import (
	"iter"
	"slices"
)

// flaw is an entry of consolidated metadata that is no part of the tree. It is written again as it was found.
type flaw struct {
	entry
	err error
}

// sift sorts the entries of a document and sets those aside that do not fit into a tree: a path that is not legal, one that is given
// twice, of which nobody knows which holds, and one below an array.
func (c *Consolidated) sift() {
	c.sort()
	var sound []entry
	bad := map[int32]bool{}
	array := ""
	for i := 0; i < len(c.order); {
		at := c.order[i]
		e := &c.entries[at]
		for i++; i < len(c.order) && c.entries[c.order[i]].path == e.path; i++ {
			e.again = append(e.again, member{e.path, c.entries[c.order[i]].raw})
			bad[c.order[i]] = true
		}
		err := e.fault(array)
		switch {
		case err != nil:
			bad[at] = true
			c.refused = append(c.refused, flaw{*e, err})
		case e.array:
			array = e.path
		}
	}
	if len(bad) == 0 {
		return
	}
	for i, e := range c.entries {
		if !bad[int32(i)] {
			sound = append(sound, e)
		}
	}
	c.entries = sound
	c.sort()
}

// fault says why the entry does not fit into a tree with the array that was met last.
func (e *entry) fault(array string) error {
	if err := checkPath(e.path); err != nil {
		return err
	}
	switch {
	case len(e.again) > 0:
		return errTwice
	case array != "" && below(e.path, array):
		return errBelowArray
	}
	return nil
}

// Refused yields the entries of the document that are no part of the tree, once each: the path as it stands there and an [*Error]
// whose pointer names the entry. A path that is not legal, one that is given twice and one below an array are refused.
// Such a path must never be used for a key: it may lead out of the group.
func (c *Consolidated) Refused() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, f := range c.refused {
			if !yield(f.path, c.entryError(f.path, f.err)) {
				return
			}
		}
	}
}

// refusedBelow returns what is refused below a path, with paths relative to it.
func (c *Consolidated) refusedBelow(path string) []flaw {
	var list []flaw
	for _, f := range c.refused {
		if below(f.path, path) {
			f.path = f.path[len(path)+1:]
			list = append(list, f)
		}
	}
	return list
}

// forgive leaves refused entries out for good.
func (c *Consolidated) forgive(isGone func(path string) bool) {
	c.refused = slices.DeleteFunc(slices.Clone(c.refused), func(f flaw) bool { return isGone(f.path) })
}
