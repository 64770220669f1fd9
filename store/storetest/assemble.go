// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"varve.dev/zarr/store"
)

// assemble is one way to assemble.
type assemble func(key store.Key, parts []store.Part) error

// assemble is Assemble with Flush and no limit.
func (p *probe) assemble(key store.Key, parts []store.Part) error {
	_, err := store.Write(p.ctx, p.s, store.Assemble(key, parts), store.Flush)
	return err
}

// taken returns the part of n bytes from offset off on of any version of a value.
func taken(name string, off, n int64) store.Part {
	return store.Part{Key: store.MustKey(name), Off: off, N: n}
}

// added returns a part of new bytes.
func added(text string) store.Part { return store.Part{Data: []byte(text)} }

// assembled returns what parts make of values, in the simplest way.
func assembled(values map[string][]byte, parts []store.Part) []byte {
	out := []byte{}
	for _, p := range parts {
		if p.Data != nil {
			out = append(out, p.Data...)
		} else {
			out = append(out, values[p.Key.String()][p.Off:p.Off+p.N]...)
		}
	}
	return out
}

// checkAssemble assembles values from ranges of others.
func checkAssemble(p *probe) {
	p.put("a/k", []byte("0123456789"))
	parts := []store.Part{added("new "), taken("a/k", 3, 4)}
	v, err := store.Write(p.ctx, p.s, store.Assemble(store.MustKey("b/c/d"), parts), store.Sync)
	p.is(err, nil, "Assemble")
	p.holds("b/c/d", []byte("new 3456"))
	if !v.Version.IsZero() && v.Version != p.version("b/c/d") {
		p.errorf("Assemble says version %v, Stat says %v", v.Version, p.version("b/c/d"))
	}
	limited := store.Assemble(store.MustKey("limited"), parts)
	limited.Limit = 7
	if _, err := store.Write(p.ctx, p.s, limited, store.Flush); err != nil {
		p.is(err, store.ErrTooLarge, "Assemble of more than the limit")
		p.absent("limited")
	}
	p.assembles(p.assemble)
	p.assembleMany()
}

// checkAssembleBatch assembles in batches.
func checkAssembleBatch(p *probe) {
	for _, d := range durabilities {
		p.inBatch(d, func(b store.Batch) {
			p.assembles(func(key store.Key, parts []store.Part) error {
				return errOf(b.Write(p.ctx, store.Assemble(key, parts)))
			})
		})
		p.holds("deep/er/m", []byte("0kept by nobody"))
	}
}

// assembles checks one way to assemble.
func (p *probe) assembles(assemble assemble) {
	values := map[string][]byte{"a/k": []byte("0123456789"), "a/l": []byte("abcdef"), "a/empty": {}}
	for name, value := range values {
		p.put(name, value)
	}
	for i, parts := range [][]store.Part{
		nil, {}, {added("")}, {added("all is new")}, {taken("a/k", 0, 10)}, {taken("a/k", 0, 0)}, {taken("a/empty", 0, 0)},
		{taken("a/k", 10, 0), taken("a/l", 6, 0)}, {taken("a/k", 0, 5), taken("a/k", 5, 5)}, {taken("a/k", 5, 5), taken("a/k", 0, 5)},
		{taken("a/k", 2, 3), taken("a/l", 1, 2), taken("a/k", 0, 4), added("x"), taken("a/l", 0, 6), taken("a/k", 4, 1)},
		{taken("a/k", 0, 10), taken("a/k", 0, 10), taken("a/k", 3, 2)}, {taken("a/l", 0, 1), added("|"), taken("a/l", 1, 1), taken("a/l", 2, 1)},
	} {
		for _, name := range []string{"new/m", "a/old"} {
			p.put("a/old", []byte("old"))
			p.is(assemble(store.MustKey(name), p.versioned(parts, i%2 == 0)), nil, "Assemble %d", i)
			p.holds(name, assembled(values, parts))
		}
	}
	p.put("self", []byte("0123456789"))
	p.is(assemble(store.MustKey("self"), []store.Part{taken("self", 5, 5), taken("a/l", 0, 1), taken("self", 0, 5)}), nil, "Assemble onto a source")
	p.holds("self", []byte("56789a01234"))
	p.badParts(assemble)
	text := []byte("kept by nobody")
	p.is(assemble(store.MustKey("deep/er/m"), []store.Part{taken("a/k", 0, 1), {Data: text}}), nil, "Assemble")
	copy(text, "XXXXX") // the driver must not keep it
	p.holds("deep/er/m", []byte("0kept by nobody"))
}

// versioned returns parts with the present versions of their sources, if with is set.
func (p *probe) versioned(parts []store.Part, with bool) []store.Part {
	var out []store.Part
	for _, part := range parts {
		if with && part.Data == nil {
			part.Version = p.version(part.Key.String())
		}
		out = append(out, part)
	}
	return out
}

// badParts assembles from versions and bytes that do not exist. Nothing may change.
func (p *probe) badParts(assemble assemble) {
	p.put("a/k", []byte("0123456789"))
	old := taken("a/k", 0, 10)
	old.Version = p.version("a/k")
	p.again("a/k", []byte("0123456789")) // an equal value has another version
	now := taken("a/k", 0, 10)
	now.Version = p.version("a/k")
	lost := taken("none/k", 0, 1)
	lost.Version = old.Version
	for _, c := range []struct {
		parts []store.Part
		want  error
	}{
		{[]store.Part{old}, store.ErrConflict},
		{[]store.Part{now, old}, store.ErrConflict},
		{[]store.Part{taken("a/k", 0, 1), taken("a/l", 0, 1), old}, store.ErrConflict},
		{[]store.Part{added("x"), lost}, store.ErrConflict},
		{[]store.Part{taken("a/l", 0, 1), taken("none/k", 0, 1)}, fs.ErrNotExist},
		{[]store.Part{taken("a/l", 0, 7)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", 0, 6), taken("a/l", 6, 1)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/k", 0, 1), taken("a/l", 7, 0)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", -1, 1)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", 0, -1)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", 1, math.MaxInt64)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", 0, math.MaxInt64), taken("a/k", 0, math.MaxInt64)}, store.ErrTooLarge},
	} {
		if c.want == store.ErrConflict && old.Version.IsZero() {
			continue // the store has no versions
		}
		p.put("a/old", []byte("old"))
		v := p.version("a/old")
		for _, name := range []string{"a/old", "none/m"} {
			p.is(assemble(store.MustKey(name), c.parts), c.want, "Assemble of %v", c.parts)
		}
		p.holds("a/old", []byte("old"))
		p.absent("none/m")
		if v != p.version("a/old") {
			p.errorf("Assemble that failed gave a value a new version")
		}
	}
}

// assembleMany assembles a long value from more sources than a process may have open
// files.
func (p *probe) assembleMany() {
	const sources, size = 1500, 300
	var parts []store.Part
	values := map[string][]byte{}
	for i := range sources {
		name := fmt.Sprintf("many/%d", i)
		values[name] = bytes.Repeat([]byte{byte(i)}, size)
		p.put(name, values[name])
		parts = append(parts, taken(name, int64(i%7), 100), taken(name, int64(i%7)+100, 50), taken(name, 0, 10))
	}
	parts = append(parts, taken("many/0", 5, 5)) // again, after others
	p.is(p.assemble(store.MustKey("many/all"), parts), nil, "Assemble of many values")
	p.holds("many/all", assembled(values, parts))
}

// checkAssembleRaces assembles ranges of a value while another writer replaces it. All
// ranges must be from one version.
func checkAssembleRaces(p *probe) {
	const half = 5000
	p.put("k", bytes.Repeat([]byte{0}, 2*half))
	if p.version("k").IsZero() {
		return // without versions, values of one size cannot be told apart
	}
	p.put("other", bytes.Repeat([]byte("x"), half))
	parts := []store.Part{taken("k", 0, half), taken("other", 0, 1), taken("k", half, half)}
	p.whileWritten("k", func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 2*half) }, 150, func(i int) error {
		return p.assembleOne(fmt.Sprintf("m/%d", i), parts)
	})
}

// assembleOne assembles parts, unless another writer comes between, and checks that all
// bytes but the one in the middle are equal.
func (p *probe) assembleOne(name string, parts []store.Part) error {
	err := p.assemble(store.MustKey(name), parts)
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	got, _, getErr := p.get(name)
	if err := errors.Join(err, getErr); err != nil {
		return err
	}
	half := len(got) / 2
	if got[half] != 'x' || bytes.Count(got[:half], got[:1]) != half || bytes.Count(got[half+1:], got[:1]) != half {
		return fmt.Errorf("%s is of several versions", brief(got))
	}
	return nil
}
