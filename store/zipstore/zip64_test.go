// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"context"
	"errors"
	"hash/crc32"
	"maps"
	"testing"

	"varve.dev/zarr/store"
)

// sparse is a value of zeros, except for some bytes at given offsets.
type sparse struct {
	size   int64
	pieces map[int64][]byte
}

func (s sparse) Get(_ context.Context, _ store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(s.size)
	if err != nil {
		return nil, store.Info{}, err
	}
	part := make([]byte, n)
	for at, b := range s.pieces {
		if at >= off && at < off+n {
			copy(part[at-off:], b)
		} else if at < off && at+int64(len(b)) > off {
			copy(part, b[off-at:])
		}
	}
	return append(dst, part...), store.Info{Size: s.size}, nil
}

// TestWide writes and reads records of members with offsets and sizes beyond 4 GiB.
func TestWide(t *testing.T) {
	small := []byte("small")
	members := []written{
		{name: "large", size: 5 << 30, crc: 7, wideRecord: true},
		{name: "small", off: 6 << 30, size: int64(len(small)), crc: crc32.ChecksumIEEE(small)},
	}
	s := sparse{pieces: map[int64][]byte{}}
	for _, m := range members {
		s.pieces[m.off] = m.appendLocal(nil)
		if m.name == "small" {
			s.pieces[m.off+int64(len(m.appendLocal(nil)))] = small
		}
	}
	var a appender
	for i := range members {
		members[i].central(&a)
	}
	const at = 7 << 30
	end(&a, 2, int64(len(a.b)), at, "")
	s.pieces[at] = a.b
	s.size = at + int64(len(a.b))
	z, err := Open(t.Context(), s, store.MustKey("x.zip"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := z.Get(t.Context(), store.MustKey("small"), store.Request{}, nil); string(got) != "small" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, info, err := z.Get(t.Context(), store.MustKey("large"), store.Request{Range: store.Suffix(1)}, nil); len(got) != 1 || info.Size != 5<<30 || err != nil {
		t.Errorf("%d bytes of %d, %v", len(got), info.Size, err)
	}
	// Their offsets do not count bytes before the archive.
	const before = 3 << 30
	later := sparse{s.size + before, map[int64][]byte{}}
	for off, b := range s.pieces {
		later.pieces[off+before] = b
	}
	if z, err = Open(t.Context(), later, store.MustKey("x.zip"), nil); err != nil {
		t.Fatal(err)
	}
	if got, _, err := z.Get(t.Context(), store.MustKey("small"), store.Request{}, nil); string(got) != "small" || err != nil {
		t.Errorf("after other bytes: %q, %v", got, err)
	}
	for off, signature := range map[int64]string{at: "PK\x01\x02", at + int64(len(a.b)) - endLength - locatorLength - wideEndLength: "PK\x06\x06"} {
		twice := sparse{later.size, maps.Clone(later.pieces)}
		twice.pieces[off] = []byte(signature)
		if _, err := Open(t.Context(), twice, store.MustKey("x.zip"), nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a record at byte %d, too: %v", off, err)
		}
	}
	// The records at the end must agree, and have the offsets that they contain.
	for _, off := range []int{4, 4 + 8, 4 + 8 + 4, 4 + 8 + 8, wideEndLength - 32, wideEndLength - 24, wideEndLength - 16, wideEndLength - 8, wideEndLength + 4, wideEndLength + 8, wideEndLength + 16} {
		spoilt := append([]byte(nil), a.b...)
		begin := len(a.b) - endLength - locatorLength - wideEndLength
		if off == 4+8 {
			continue // versions are free
		}
		spoilt[begin+off] += 2
		z := sparse{s.size, map[int64][]byte{at: spoilt}}
		if _, err := Open(t.Context(), z, store.MustKey("x.zip"), nil); err == nil {
			t.Errorf("byte %d of the records at the end is changed, and nobody sees it", off)
		}
	}
}
