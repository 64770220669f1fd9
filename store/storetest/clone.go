// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"varve.dev/zarr/store"
)

// clone is one way to clone.
type clone func(key, source store.Key, from store.Version) (store.Written, error)

// clone is Clone with Flush and no limit.
func (p *probe) clone(key, source store.Key, from store.Version) (store.Written, error) {
	return store.Write(p.ctx, p.s, store.Clone(key, source, from), store.Flush)
}

// checkClone clones values, and checks that the values stay independent.
func checkClone(p *probe) {
	value := bytes.Repeat([]byte("0123456789"), 10_000)
	p.put("a/k", value)
	v := p.version("a/k")
	made, err := store.Write(p.ctx, p.s, store.Clone(store.MustKey("b/c/d"), store.MustKey("a/k"), v), store.Sync)
	p.is(err, nil, "Clone")
	p.cloned(made, "b/c/d", "a/k", value)
	p.clones(p.clone)
	if made, _ := p.clone(store.MustKey("m"), store.MustKey("a/k"), store.Version{}); made.Moved > 0 {
		// The power is missing or had to copy, so there may be a limit.
		limited := store.Clone(store.MustKey("m"), store.MustKey("a/k"), store.Version{})
		limited.Limit = 1
		if _, err := store.Write(p.ctx, p.s, limited, store.Flush); err != nil {
			p.is(err, store.ErrTooLarge, "Clone of a value beyond the limit")
		}
	}
}

// checkCloneBatch clones in batches.
func checkCloneBatch(p *probe) {
	for _, d := range durabilities {
		p.inBatch(d, func(b store.Batch) {
			p.clones(func(key, source store.Key, from store.Version) (store.Written, error) {
				return b.Write(p.ctx, store.Clone(key, source, from))
			})
		})
		p.holds("new/deep/k", []byte("source"))
	}
}

// clones checks one way to clone.
func (p *probe) clones(clone clone) {
	source := store.MustKey("a/k")
	for i, name := range []string{"a/new", "a/new", "a/old", "new/deep/k", "a/k", "new/deep/k"} {
		p.put("a/k", []byte("source"))
		p.put("a/old", []byte("something longer"))
		for _, from := range []store.Version{p.version("a/k"), {}} {
			made, err := clone(store.MustKey(name), source, from)
			p.is(err, nil, "Clone %d to %q", i, name)
			p.cloned(made, name, "a/k", []byte("source"))
		}
	}
	p.cloneConflicts(clone)
	p.independent(clone)
}

// cloned checks the result of a clone, and both values.
func (p *probe) cloned(made store.Written, key, source string, value []byte) {
	p.holds(key, value)
	p.holds(source, value)
	n := int64(len(value))
	if made.Size != n || made.Moved != 0 && made.Moved != n {
		p.errorf("Clone says %d bytes and %d moved, want %d", made.Size, made.Moved, n)
	}
	// Whoever clones any version has to know which one it was.
	if made.Source.IsZero() && !p.version(source).IsZero() {
		p.errorf("Clone of %q does not say which version it has cloned", source)
	}
	for name, v := range map[string]store.Version{key: made.Version, source: made.Source} {
		if now := p.version(name); !v.IsZero() && v != now {
			p.errorf("Clone says that %q has version %v, Stat says %v", name, v, now)
		}
	}
	info, err := store.Stat(p.ctx, p.s, store.MustKey(key))
	p.is(err, nil, "Stat %q", key)
	if age := time.Since(info.Modified).Abs(); !info.Modified.IsZero() && age > clockSkew {
		p.errorf("the clone %q is %v old", key, age)
	}
}

// cloneConflicts clones versions that do not exist. Nothing may change.
func (p *probe) cloneConflicts(clone clone) {
	source, key, none := store.MustKey("a/k"), store.MustKey("a/old"), store.MustKey("none/k")
	p.put("a/k", []byte("source"))
	old := p.version("a/k")
	p.again("a/k", []byte("source")) // an equal value has another version
	p.put("a/old", []byte("old"))
	versions := [2]store.Version{p.version("a/k"), p.version("a/old")}
	if !old.IsZero() {
		_, err := clone(key, source, old)
		p.is(err, store.ErrConflict, "Clone of an old version")
		_, err = clone(key, none, old)
		p.is(err, store.ErrConflict, "Clone of a version of nothing")
		_, err = clone(none, source, old)
		p.is(err, store.ErrConflict, "Clone of an old version to a new key")
	}
	_, err := clone(key, none, store.Version{})
	p.is(err, fs.ErrNotExist, "Clone of nothing")
	_, err = clone(none, store.MustKey("none/source"), store.Version{})
	p.is(err, fs.ErrNotExist, "Clone of nothing to a new key")
	p.absent("none/k")
	p.holds("a/k", []byte("source"))
	p.holds("a/old", []byte("old"))
	if versions != [2]store.Version{p.version("a/k"), p.version("a/old")} {
		p.errorf("clones that failed gave values new versions")
	}
}

// independent changes a value or its clone in every way. The other keeps its value.
func (p *probe) independent(clone clone) {
	for what, change := range map[string]func(key store.Key) error{
		"Put": func(key store.Key) error {
			_, err := store.Write(p.ctx, p.s, store.Put(key, []byte("changed")), store.Flush)
			return err
		},
		"Splice": func(key store.Key) error {
			_, err := store.Write(p.ctx, p.s, store.Splice(key, p.version(key.String()), []store.Part{fresh("chan"), fresh("ged")}), store.Flush)
			return err
		},
		"PatchValue": func(key store.Key) error {
			patches := []store.Patch{{Data: []byte("chan")}, {Off: 4, Data: []byte("ged")}}
			_, err := store.Write(p.ctx, p.s, store.PatchValue(key, p.version(key.String()), patches), store.Flush)
			return err
		},
	} {
		for i, names := range [][2]string{{"i/a", "i/b"}, {"i/b", "i/a"}} {
			p.put("i/a", []byte("source "))
			_, err := clone(store.MustKey("i/b"), store.MustKey("i/a"), store.Version{})
			p.is(err, nil, "Clone")
			switch err := change(store.MustKey(names[0])); {
			case errors.Is(err, store.ErrUnsupported):
				continue
			case err != nil:
				p.errorf("%s of value %d of two clones: %w", what, i, err)
			}
			p.holds(names[0], []byte("changed"))
			p.holds(names[1], []byte("source "))
			if p.change(store.Delete(store.MustKey(names[0]))) == nil {
				p.holds(names[1], []byte("source "))
			}
		}
	}
	p.put("a/k", []byte("source"))
}

// checkCloneRaces clones a value while others replace and clone it. A clone of a version
// has the value of that version.
func checkCloneRaces(p *probe) {
	p.put("k", []byte("value 0"))
	// Sizes repeat, so that they do not tell versions apart.
	p.whileWritten("k", func(i int) []byte { return fmt.Appendf(nil, "value %d", i%10) }, 160, func(i int) error {
		return p.cloneOne(store.MustKey(fmt.Sprintf("clone/%d", i)), store.MustKey("k"))
	})
}

// cloneOne clones the version that it reads, unless another writer comes first.
func (p *probe) cloneOne(key, source store.Key) error {
	want, info, err := p.s.Get(p.ctx, source, store.Request{}, nil)
	if err != nil {
		return err
	}
	switch _, err = p.clone(key, source, info.Version); {
	case errors.Is(err, store.ErrConflict):
		return nil
	case err != nil || info.Version.IsZero():
		return err
	}
	got, _, err := p.s.Get(p.ctx, key, store.Request{}, nil)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("the clone of %q is %q", want, got)
	}
	return err
}

// checkCopy copies values within the store, alone and in batches. A store without the
// power must say so.
func checkCopy(p *probe) {
	value := bytes.Repeat([]byte("0123456789"), 10_000)
	p.put("a/k", value)
	p.put("b/old", []byte("old"))
	from, none := store.MustKey("a/k"), store.MustKey("a/none")
	for i, to := range []string{"a/copy", "b/new/copy", "b/old"} {
		made, err := store.Write(p.ctx, p.s, store.Copy(store.MustKey(to), p.s, from), store.Sync)
		p.is(err, nil, "Copy to %q", to)
		p.holds(to, value)
		if made.Size != int64(len(value)) {
			p.errorf("copy %d has %d bytes, want %d", i, made.Size, len(value))
		}
		if v := made.Version; !v.IsZero() && v != p.version(to) {
			p.errorf("Copy says version %v, Stat says %v", v, p.version(to))
		}
	}
	_, err := store.Write(p.ctx, p.s, store.Copy(store.MustKey("b/none"), p.s, none), store.Flush)
	p.is(err, fs.ErrNotExist, "Copy of nothing")
	p.absent("b/none")
	p.put("a/k", []byte("changed")) // a copy does not follow its source
	p.holds("a/copy", value)
	p.batchCopy(from, none)
}

// batchCopy is checkCopy in a batch.
func (p *probe) batchCopy(from, none store.Key) {
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	p.is(err, nil, "NewBatch")
	made, err := b.Write(p.ctx, store.Copy(store.MustKey("c/d/copy"), p.s, from))
	if copies := store.Can(p.s, store.OpCopy); !copies && errors.Is(err, store.ErrUnsupported) {
		b.Discard()
		return
	}
	p.is(err, nil, "Copy in a batch")
	if made.Size != 7 {
		p.errorf("Copy in a batch: %d bytes, want 7", made.Size)
	}
	_, err = b.Write(p.ctx, store.Copy(store.MustKey("c/none"), p.s, none))
	p.is(err, fs.ErrNotExist, "Copy in a batch of nothing")
	p.is(b.Commit(p.ctx), nil, "Commit")
	p.holds("c/d/copy", []byte("changed"))
	p.absent("c/none")
}
