// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"varve.dev/zarr/store"
)

// foreignStore is another store, of another kind than the tested one.
type foreignStore map[string]version

type version struct {
	text string
	data []byte
}

// errElsewhere is the error of a value whose text is "broken", from its second half on.
var errElsewhere = errors.New("the other store is broken")

// Get implements [store.Store].
func (s foreignStore) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	v, ok := s[key.String()]
	if !ok {
		return nil, store.Info{}, fs.ErrNotExist
	}
	info := store.Info{Size: int64(len(v.data)), Version: store.MakeVersion(v.text)}
	off, n, err := q.Resolve(info.Size)
	if err == nil && v.text == "broken" && off+n > info.Size/2 {
		err = errElsewhere
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, store.Info{}, err
	}
	return append(dst, v.data[off:off+n]...), info, nil
}

// checkGather builds values from ranges of values of another store, and of the same one.
func checkGather(p *probe) {
	if !store.Can(p.s, store.OpGather) {
		_, err := store.Write(p.ctx, p.s, store.Gather(store.MustKey("k"), foreignStore{}, nil), store.Sync)
		p.is(err, store.ErrUnsupported, "Gather")
		return
	}
	p.gathers(func(key store.Key, from store.Store, parts []store.Part) error {
		v, err := store.Write(p.ctx, p.s, store.Gather(key, from, parts), store.Sync)
		if err == nil && !v.Version.IsZero() && v.Version != p.version(key.String()) {
			p.errorf("Gather says version %v, Stat says %v", v.Version, p.version(key.String()))
		}
		return err
	})
	p.inBatch(store.Sync, func(b store.Batch) {
		p.gathers(func(key store.Key, from store.Store, parts []store.Part) error {
			return errOf(b.Write(p.ctx, store.Gather(key, from, parts)))
		})
	})
	p.assembles(func(key store.Key, parts []store.Part) error {
		_, err := store.Write(p.ctx, p.s, store.Gather(key, p.s, parts), store.Flush)
		return err
	})
}

// gathers checks one way to gather.
func (p *probe) gathers(gather func(key store.Key, from store.Store, parts []store.Part) error) {
	long := make([]byte, 9<<20+5)
	for i := range long {
		long[i] = byte(i>>12 + i)
	}
	from := foreignStore{"a/k": {"1", []byte("0123456789")}, "a/l": {"2", []byte("abcdef")}, "long": {"3", long}, "b": {"broken", long}}
	values := map[string][]byte{}
	for name, v := range from {
		values[name] = v.data
	}
	many := []store.Part{}
	for i := range int64(3000) {
		many = append(many, taken("long", i*3000, 1000), taken("long", i*3000+1000, i%3), taken("a/k", i%10, 1))
	}
	for i, parts := range [][]store.Part{
		nil, {added("")}, {taken("a/k", 0, 0)}, {taken("a/k", 10, 0)}, {taken("a/k", 0, 5), taken("a/k", 5, 5)},
		{added("x"), taken("a/l", 1, 2), taken("a/k", 3, 4), taken("a/l", 0, 6), added("y")},
		{taken("long", 0, int64(len(long)))}, {added("head"), taken("long", 1, int64(len(long))-2), {Data: long}, taken("long", 7, 5<<20)}, many,
	} {
		for j := range parts {
			if i%2 == 0 && parts[j].Data == nil {
				parts[j].Version = store.MakeVersion(from[parts[j].Key.String()].text)
			}
		}
		for _, name := range []string{"new/gathered", "old"} {
			p.put("old", []byte("old"))
			p.is(gather(store.MustKey(name), from, parts), nil, "Gather %d", i)
			p.holds(name, assembled(values, parts))
		}
	}
	p.gathersNothing(gather, from)
}

// gathersNothing gathers what cannot be. Nothing may change.
func (p *probe) gathersNothing(gather func(key store.Key, from store.Store, parts []store.Part) error, from foreignStore) {
	other := taken("a/l", 0, 1)
	other.Version = store.MakeVersion("1")
	size := int64(len(from["b"].data))
	for _, c := range []struct {
		parts []store.Part
		want  error
	}{
		{[]store.Part{other}, store.ErrConflict},
		{[]store.Part{taken("long", 0, size), other}, store.ErrConflict},
		{[]store.Part{taken("a/l", 0, 1), taken("none", 0, 1)}, fs.ErrNotExist},
		{[]store.Part{taken("long", 0, size), taken("long", 6, size)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", -1, 1)}, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a/l", 0, math.MaxInt64), taken("a/k", 0, math.MaxInt64)}, store.ErrTooLarge},
		{[]store.Part{taken("b", 0, size)}, errElsewhere},
	} {
		old := fmt.Appendf(nil, "old %v", c.want)
		v := p.put("a/old", old)
		for _, name := range []string{"a/old", "none/m"} {
			p.is(gather(store.MustKey(name), from, c.parts), c.want, "Gather of %v", c.parts)
		}
		p.holds("a/old", bytes.Clone(old))
		p.absent("none/m")
		if !v.IsZero() && v != p.version("a/old") {
			p.errorf("Gather that failed gave a value a new version")
		}
	}
}
