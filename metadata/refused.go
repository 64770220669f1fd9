package metadata

import (
	"iter"
	"slices"
)

// flaw is an entry of consolidated metadata that is not part of the tree. It is written
// again as it was found.
type flaw struct {
	entry
	err error
}

// sift sorts the entries of a document and sets aside those that cannot be part of the
// tree: an illegal path, a path that is given twice, so that it is unknown which entry
// holds, and a path below an array.
func (c *Consolidated) sift() {
	c.sort()
	var sound []entry
	bad := map[int32]bool{}
	array := ""
	for i := 0; i < len(c.order); {
		at := c.order[i]
		e := &c.entries[at]
		// Entries with the same path are neighbours. The first one keeps the others, so
		// that all of them are written again.
		for i++; i < len(c.order) && c.entries[c.order[i]].path == e.path; i++ {
			e.addRepeat(member{e.path, c.entries[c.order[i]].raw})
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
	// Nearly all documents are sound.
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

// fault returns why the entry cannot be part of the tree. array is the path of the last
// array before it in tree order.
func (e *entry) fault(array string) error {
	if err := checkPath(e.path); err != nil {
		return err
	}
	switch {
	case e.again != nil:
		return errTwice
	case array != "" && below(e.path, array):
		return errBelowArray
	}
	return nil
}

// Refused yields the entries of the document that are not part of the tree, each once,
// with the path as it is spelled and an [*Error] whose pointer names the entry. These are
// illegal paths, paths that are given twice, and paths below an array. Never use such a
// path in a key: it may lead out of the group.
func (c *Consolidated) Refused() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, f := range c.refused {
			if !yield(f.path, c.entryError(f.path, f.err)) {
				return
			}
		}
	}
}

// refusedBelow returns the refused entries below path. Their paths are relative to it.
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

// forgive removes refused entries whose paths are gone.
func (c *Consolidated) forgive(isGone func(path string) bool) {
	c.refused = slices.DeleteFunc(slices.Clone(c.refused), func(f flaw) bool { return isGone(f.path) })
}
