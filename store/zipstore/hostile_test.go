// SPDX-License-Identifier: Apache-2.0

package zipstore_test

import (
	stdzip "archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// sound is an archive of two members that are not compressed.
func sound(t testing.TB) []byte {
	return pack(t, stdzip.Store, false, map[string][]byte{"c/0": []byte("0123"), "zarr.json": []byte("{}")})
}

// at returns the offset of the nth record with a signature.
func at(archive []byte, signature string, n int) int {
	i := -1
	for range n + 1 {
		i += 1 + bytes.Index(archive[i+1:], []byte(signature))
	}
	return i
}

const (
	local, central, last = "PK\x03\x04", "PK\x01\x02", "PK\x05\x06"
)

// TestDamaged checks that archives that programs could read in different ways are
// refused.
func TestDamaged(t *testing.T) {
	put16 := func(signature string, n, off int, v uint16) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint16(b[at(b, signature, n)+off:], v)
			return b
		}
	}
	put32 := func(signature string, n, off int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[at(b, signature, n)+off:], v)
			return b
		}
	}
	rename := func(to string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("c/0"), []byte(to)) }
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"empty":            func([]byte) []byte { return nil },
		"cut":              func(b []byte) []byte { return b[:len(b)-1] },
		"longer":           func(b []byte) []byte { return append(b, 0) },
		"two directories":  func(b []byte) []byte { return append(bytes.Clone(b), b...) },
		"cut front":        func(b []byte) []byte { return b[7:] },
		"gap":              func(b []byte) []byte { return slices.Insert(b, at(b, last, 0), 0) },
		"no archive":       func([]byte) []byte { return bytes.Repeat([]byte("PK"), 1000) },
		"comment":          func(b []byte) []byte { return append(b[:len(b)-9], "PK\x05\x06....."...) },
		"disk":             put16(last, 0, 4, 1),
		"directory's disk": put16(last, 0, 6, 1),
		"count here":       put16(last, 0, 8, 1),
		"fewer":            func(b []byte) []byte { return put16(last, 0, 10, 1)(put16(last, 0, 8, 1)(b)) },
		"more":             func(b []byte) []byte { return put16(last, 0, 10, 60000)(put16(last, 0, 8, 60000)(b)) },
		"count of ZIP64":   func(b []byte) []byte { return put16(last, 0, 10, 0xffff)(put16(last, 0, 8, 0xffff)(b)) },
		"length":           put32(last, 0, 12, 1),
		"offset":           put32(last, 0, 16, 1),
		"far offset":       put32(last, 0, 16, 0xffffffff),
		"offset of other":  put32(central, 0, 42, uint32(at(sound(t), local, 1))),
		"offset behind":    put32(central, 1, 42, 1<<31),
		"offset of ZIP64":  put32(central, 1, 42, 0xffffffff),
		"member's disk":    put16(central, 0, 34, 1),
		"size":             put32(central, 0, 24, 5),
		"packed":           put32(central, 0, 20, 5),
		"both sizes":       func(b []byte) []byte { return put32(central, 0, 24, 1<<30)(put32(central, 0, 20, 1<<30)(b)) },
		"name length":      put16(central, 0, 28, 4),
		"long name":        put16(central, 0, 28, 0xffff),
		"extra length":     put16(central, 1, 30, 8),
		"extra inside":     put16(central, 0, 46+3+2, 4),
		"comment length":   put16(central, 1, 32, 1),
		"two names":        put16(central, 0, 46+3, 0x7075),
		"no ZIP64":         func(b []byte) []byte { return put32(central, 0, 24, 0xffffffff)(put16(central, 0, 46+3, 1)(b)) },
		"parent":           rename("../"),
		"root":             rename("/c0"),
		"dot":              rename("./0"),
		"empty segment":    rename("c//"),
		"NUL":              rename("c\x000"),
		"no UTF-8":         rename("c\xff0"),
		"directory":        rename("c0/"),
	} {
		if _, err := zipstore.OpenArchive(t.Context(), in(t, spoil(sound(t))), archiveKey, nil); !errors.Is(err, zipstore.ErrCorrupt) {
			t.Errorf("%s: error is %v, want %v", name, err, zipstore.ErrCorrupt)
		}
	}
	open(t, sound(t))
	for _, name := range []string{"c\\0", "c:0", "c\t0"} {
		if _, err := store.Stat(t.Context(), open(t, rename(name)(sound(t))), store.MustKey(name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestBefore reads archives with bytes before them, as those that extract themselves, and
// as two that follow each other. Offsets do not count these bytes.
func TestBefore(t *testing.T) {
	deflated := pack(t, stdzip.Deflate, true, map[string][]byte{"c/0": []byte("4567"), "d": nil})
	for name, before := range map[string][]byte{
		"a program": append([]byte("MZ"), make([]byte, 300_000)...), "one byte": {0}, "another archive": deflated, "an empty one": pack(t, stdzip.Store, false, nil),
	} {
		s := open(t, slices.Concat(before, sound(t)))
		if got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil); string(got) != "0123" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := store.Stat(t.Context(), s, store.MustKey("d")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a member of the archive before: %v", name, err)
		}
	}
	s := open(t, slices.Concat([]byte("#!/bin/sh\n"), deflated))
	if got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil); string(got) != "4567" || err != nil {
		t.Errorf("deflated: %q, %v", got, err)
	}
}

// TestUnwritableNames writes names that no archive holds, or that programs read in
// different ways.
func TestUnwritableNames(t *testing.T) {
	a, err := zipstore.CreateArchive(filepath.Join(t.TempDir(), "a.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zipstore.Discard(a)
	for _, name := range []string{"a\xff", strings.Repeat("n", 1<<16)} {
		if _, err := a.Write(t.Context(), store.Put(store.MustKey(name), nil), store.Sync); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	if _, err := a.Write(t.Context(), store.Put(store.MustKey("T:2m/a\\b\t"), nil), store.Sync); err != nil {
		t.Error(err)
	}
}

// TestRepeatedNames reads the last of several members with one name, even if the order of
// the directory is not that of the members. It refuses two members that overlap.
func TestRepeatedNames(t *testing.T) {
	packed := pack(t, stdzip.Store, false, map[string][]byte{"c/0": []byte("0123"), "c/1": []byte("4567"), "c/2": []byte("89"), "d/": nil, "e/": nil})
	for from, to := range map[string]string{"c/1": "c/0", "e/": "d/"} {
		packed = bytes.ReplaceAll(packed, []byte(from), []byte(to))
	}
	check := func(data []byte, want string) {
		t.Helper()
		s := open(t, data)
		if got, info, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil); string(got) != want || info.Size != 4 || err != nil {
			t.Errorf("%q of %d bytes, %v; want %q", got, info.Size, err, want)
		}
		names := []string{}
		for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		if !slices.Equal(names, []string{"c/0", "c/2"}) {
			t.Errorf("names %q", names)
		}
		if notes := archive.Notes(s); len(notes) != 1 || !strings.Contains(notes[0], "replaces: 1;") {
			t.Errorf("notes %q", notes)
		}
	}
	check(packed, "4567")

	other := bytes.Clone(packed) // with the first two records of the directory the other way round
	first, second, third := at(packed, central, 0), at(packed, central, 1), at(packed, central, 2)
	copy(other[first:], packed[second:third])
	copy(other[first+third-second:], packed[first:second])
	check(other, "0123")

	twice := bytes.Clone(packed)
	copy(twice[second:], packed[first:second])
	if _, err := zipstore.OpenArchive(t.Context(), in(t, twice), archiveKey, nil); !errors.Is(err, zipstore.ErrCorrupt) {
		t.Errorf("two records of one member: %v", err)
	}
	if notes := archive.Notes(open(t, sound(t))); notes != nil {
		t.Errorf("notes %q of an archive with one member a name", notes)
	}
}

// TestDamagedMembers checks that members that cannot be read do not affect the others.
func TestDamagedMembers(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(b []byte) // of the member c/0
		want  error
	}{
		"checksum":         {func(b []byte) { b[at(b, "0123", 0)]++ }, zipstore.ErrCorrupt},
		"both checksums":   {func(b []byte) { b[at(b, local, 0)+14]++; b[at(b, central, 0)+16]++ }, zipstore.ErrCorrupt},
		"no record":        {func(b []byte) { b[at(b, local, 0)]++ }, zipstore.ErrCorrupt},
		"offset":           {func(b []byte) { b[at(b, central, 0)+42] = 3 }, zipstore.ErrCorrupt},
		"another name":     {func(b []byte) { b[at(b, local, 0)+30]++ }, zipstore.ErrCorrupt},
		"name length":      {func(b []byte) { b[at(b, local, 0)+26]++ }, zipstore.ErrCorrupt},
		"extra length":     {func(b []byte) { b[at(b, local, 0)+28]++ }, zipstore.ErrCorrupt},
		"long extra":       {func(b []byte) { b[at(b, local, 0)+29]++ }, zipstore.ErrCorrupt},
		"short extra":      {func(b []byte) { b[at(b, local, 0)+28]-- }, zipstore.ErrCorrupt},
		"local size":       {func(b []byte) { b[at(b, local, 0)+22]++ }, zipstore.ErrCorrupt},
		"local checksum":   {func(b []byte) { b[at(b, local, 0)+14]++ }, zipstore.ErrCorrupt},
		"method":           {func(b []byte) { b[at(b, central, 0)+10] = 93 }, store.ErrUnsupported},
		"local method":     {func(b []byte) { b[at(b, local, 0)+8] = 8 }, zipstore.ErrCorrupt},
		"encrypted":        {func(b []byte) { b[at(b, central, 0)+8] |= 1 }, store.ErrUnsupported},
		"locally so":       {func(b []byte) { b[at(b, local, 0)+6] |= 1 }, zipstore.ErrCorrupt},
		"symbolic link":    {func(b []byte) { b[at(b, central, 0)+5], b[at(b, central, 0)+41] = 3, 0o120000>>8 }, store.ErrUnsupported},
		"device":           {func(b []byte) { b[at(b, central, 0)+5], b[at(b, central, 0)+41] = 3, 0o60000>>8 }, store.ErrUnsupported},
		"says it deflates": {func(b []byte) { b[at(b, central, 0)+10], b[at(b, local, 0)+8] = 8, 8 }, zipstore.ErrCorrupt},
	} {
		b := sound(t)
		c.spoil(b)
		s := open(t, b)
		if got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %q and error %v, want %v", name, got, err, c.want)
		}
		if got, _, err := s.Get(t.Context(), store.MustKey("zarr.json"), store.Request{}, nil); string(got) != "{}" || err != nil {
			t.Errorf("%s: another member is %q, %v", name, got, err)
		}
	}
}

// TestDeflated checks that sizes of deflated members must be exact, and that a false size
// takes no memory.
func TestDeflated(t *testing.T) {
	value := []byte(strings.Repeat("0123456789", 100_000))
	for name, size := range map[string]int{"right": 1_000_000, "longer": 1_000_001, "shorter": 999_999, "much longer": 1 << 21, "nothing": 0} {
		b := pack(t, stdzip.Deflate, true, map[string][]byte{"k": value})
		binary.LittleEndian.PutUint32(b[at(b, central, 0)+24:], uint32(size))
		s := open(t, b)
		got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
		if (err == nil) != (name == "right") || err == nil && !bytes.Equal(got, value) || err != nil && !errors.Is(err, zipstore.ErrCorrupt) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	b := pack(t, stdzip.Deflate, true, map[string][]byte{"k": value})
	binary.LittleEndian.PutUint32(b[at(b, central, 0)+24:], 1<<31)
	if _, err := zipstore.OpenArchive(t.Context(), in(t, b), archiveKey, nil); !errors.Is(err, zipstore.ErrCorrupt) {
		t.Errorf("a size that cannot be: %v", err)
	}
}

// TestBehindDeflated reads a member with one more byte after its deflated bytes. All
// lengths and the checksum are right. The member is refused.
func TestBehindDeflated(t *testing.T) {
	value := bytes.Repeat([]byte("0123"), 100)
	for _, behind := range []string{"", "x"} {
		var packed, archive bytes.Buffer
		d, err := flate.NewWriter(&packed, flate.BestSpeed)
		if err == nil {
			_, err = d.Write(value)
		}
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		packed.WriteString(behind)
		w := stdzip.NewWriter(&archive)
		m, err := w.CreateRaw(&stdzip.FileHeader{
			Name: "c/0", Method: stdzip.Deflate, CRC32: crc32.ChecksumIEEE(value),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(value)),
		})
		if err == nil {
			_, err = m.Write(packed.Bytes())
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		got, _, err := open(t, archive.Bytes()).Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil)
		if behind == "" && (err != nil || !bytes.Equal(got, value)) || behind != "" && err == nil {
			t.Errorf("%q behind it: %d bytes, error %v", behind, len(got), err)
		}
	}
}

// TestBomb checks that a limit holds before anything is decoded.
func TestBomb(t *testing.T) {
	s := open(t, pack(t, stdzip.Deflate, true, map[string][]byte{"k": make([]byte, 16<<20)}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{Limit: 1 << 20}, nil)
	if got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{Range: store.Suffix(10)}, nil); len(got) != 10 || err != nil {
		t.Error(got, err)
	}
	runtime.ReadMemStats(&after)
	if !errors.Is(err, store.ErrTooLarge) || after.TotalAlloc-before.TotalAlloc > 2<<20 {
		t.Errorf("%v, %d KiB", err, (after.TotalAlloc-before.TotalAlloc)>>10)
	}
}

// FuzzOpen checks that any bytes are refused, or are an archive with the members that the
// standard library finds.
func FuzzOpen(f *testing.F) {
	values := map[string][]byte{"a/zarr.json": []byte("{}"), "a/c/0": bytes.Repeat([]byte("0123"), 50), "ü": nil}
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		f.Add(pack(f, method, true, values))
	}
	f.Add(pack(f, stdzip.Store, false, values))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := zipstore.OpenArchive(t.Context(), in(t, b), archiveKey, nil)
		if err != nil {
			if !errors.Is(err, zipstore.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		other, err := stdzip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil && !errors.Is(err, stdzip.ErrInsecurePath) {
			t.Skip(err)
		}
		theirs := map[string]*stdzip.File{}
		for _, m := range other.File {
			theirs[m.Name] = m
		}
		for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := s.Get(t.Context(), store.MustKey(e.Name), store.Request{Limit: 1 << 20}, nil)
			if err != nil {
				continue
			}
			m := theirs[e.Name]
			if m == nil {
				t.Fatalf("the standard library finds no %q", e.Name)
			}
			r, err := m.Open()
			if err != nil {
				t.Fatalf("%q: %v", e.Name, err)
			}
			if want, err := io.ReadAll(r); err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%q: %q, the standard library finds %q", e.Name, got, want)
			}
		}
	})
}

// TestChecksums checks that stored and deflated members with a wrong checksum are refused
// when they are read whole, and deflated ones also when a part is read.
func TestChecksums(t *testing.T) {
	value := bytes.Repeat([]byte("0123456789"), 100)
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		b := pack(t, method, true, map[string][]byte{"k": value})
		b[at(b, central, 0)+16] ^= 1 // the record before the member has none
		s := open(t, b)
		if got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil); !errors.Is(err, zipstore.ErrCorrupt) {
			t.Errorf("method %d: %d bytes, error %v", method, len(got), err)
		}
		if got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{Range: store.Span(5, 7)}, nil); method == stdzip.Deflate && !errors.Is(err, zipstore.ErrCorrupt) {
			t.Errorf("a part: %d bytes, error %v", len(got), err)
		}
	}
}
