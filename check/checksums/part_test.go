// SPDX-License-Identifier: Apache-2.0

package checksums_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// parted returns the parts of a location, in random order, some of them twice.
func parted(t *testing.T, r *rand.Rand, at *zarr.Location, of int64, opt *checksums.Options) (texts []string) {
	t.Helper()
	for task := range of {
		for range 1 + r.IntN(4)/3 {
			texts = append(texts, partOf(t, at, task, of, opt))
		}
	}
	r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return texts
}

func partOf(t *testing.T, at *zarr.Location, task, of int64, opt *checksums.Options) string {
	t.Helper()
	var text strings.Builder
	report, err := checksums.WritePart(t.Context(), at, transfer.Share{Task: task, Of: of}, &text, opt)
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(strings.Count(text.String(), "\n")); n != report.Values+2 {
		t.Fatalf("%d lines for %d values", n, report.Values)
	}
	return text.String()
}

// readers returns readers of texts.
func readers(texts []string) (list []io.Reader) {
	for _, text := range texts {
		list = append(list, strings.NewReader(text))
	}
	return list
}

// sorted is a store that lists in order, and that notes which values were read.
type sorted struct {
	memtest.Store
	mu   sync.Mutex
	read []string
}

func (s *sorted) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		var all []store.Entry
		for e, err := range s.Store.List(ctx, dir, how) {
			if err != nil {
				yield(e, err)
				return
			}
			all = append(all, e)
		}
		slices.SortFunc(all, func(a, b store.Entry) int { return strings.Compare(a.Name, b.Name) })
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *sorted) Get(ctx context.Context, key store.Key, q store.Request, room []byte) ([]byte, store.Info, error) {
	s.mu.Lock()
	s.read = append(s.read, key.String())
	s.mu.Unlock()
	return s.Store.Get(ctx, key, q, room)
}

// heap makes a store of values with random names.
func heap(t *testing.T, r *rand.Rand, n int) *sorted {
	t.Helper()
	s := &sorted{Store: memtest.New()}
	for range n {
		name := fmt.Sprintf("%c/%d", "xyz"[r.IntN(3)], r.IntN(1000))
		if r.IntN(5) == 0 {
			name += "<&>\u2028 é"
		}
		fixture.Put(t, s.Store, name, strings.Repeat("v", r.IntN(50)))
	}
	fixture.Put(t, s.Store, "__varve/pending.json", "not listed")
	return s
}

// TestParts writes a list from parts. It is that of Write, no value is read twice, and
// the digest of the DANDI archive is the same.
func TestParts(t *testing.T) {
	for i := range fixture.Soaked(t, 40, 1000) {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		s, dandi := heap(t, r, r.IntN(60)), r.IntN(2) == 0
		at := zarr.At(s, "")
		if r.IntN(3) == 0 {
			at = zarr.At(s, "x")
		}
		list, want := write(t, at, &checksums.Options{DANDI: dandi})
		texts := parted(t, r, at, []int64{1, 2, 5, 60}[r.IntN(4)], &checksums.Options{DANDI: dandi})
		s.read = nil
		again, got := write(t, at, &checksums.Options{DANDI: dandi, Parts: readers(texts)})
		if again != list || got != want || len(s.read) > 0 {
			t.Fatalf("store %d: %+v, want %+v; %q was read\n%s\nwant\n%s", i, got, want, s.read, again, list)
		}
		c, err := checksums.Compare(t.Context(), at, strings.NewReader(list), &checksums.Options{Parts: readers(texts)})
		if err != nil || len(c.Findings) > 0 || c.Values != want.Values || c.Bytes != want.Bytes || len(s.read) > 0 {
			t.Fatalf("store %d: %+v, %v; %q was read", i, c, err, s.read)
		}
	}
}

// TestPartsOutdated changes values after their parts were written. Only those are read
// again, and values that are gone are left out.
func TestPartsOutdated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 11))
	s := heap(t, r, 200)
	at := zarr.At(s, "")
	before, _ := write(t, at, nil)
	texts := parted(t, r, at, 7, nil)
	var keys []string
	for e := range s.List(t.Context(), store.Path{}, store.Deep) {
		if !strings.HasPrefix(e.Name, "__") {
			keys = append(keys, e.Name)
		}
	}
	longer, same, gone := keys[10], keys[50], keys[100]
	fixture.Put(t, s.Store, longer, strings.Repeat("w", 60))
	old := value(t, s, same)
	fixture.Put(t, s.Store, same, strings.Repeat("w", len(old)))
	fixture.Put(t, s.Store, "new", "new")
	if _, err := s.Write(t.Context(), store.Delete(store.MustKey(gone)), store.Sync); err != nil {
		t.Fatal(err)
	}
	s.read = nil
	list, got := write(t, at, &checksums.Options{Parts: readers(texts)})
	read := slices.Sorted(slices.Values(s.read))
	if want := slices.Sorted(slices.Values([]string{longer, same, "new"})); !slices.Equal(read, want) {
		t.Errorf("%q was read, want %q", read, want)
	}
	if again, want := write(t, at, nil); list != again || got != want || strings.Contains(list, gone) {
		t.Errorf("%+v, want %+v", got, want)
	}
	c, err := checksums.Compare(t.Context(), at, strings.NewReader(before), &checksums.Options{Parts: readers(texts)})
	if err != nil || len(c.Findings) != 4 {
		t.Errorf("%+v, %v", c.Findings, err)
	}
}

func value(t *testing.T, s store.Store, key string) []byte {
	t.Helper()
	data, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPartsOfFiles writes the parts of files. Their order is that of the directory.
func TestPartsOfFiles(t *testing.T) {
	dir := archive(t)
	list, want := write(t, locate(t, dir), &checksums.Options{DANDI: true})
	texts := parted(t, rand.New(rand.NewPCG(1, 1)), locate(t, dir), 3, &checksums.Options{DANDI: true})
	name := filepath.Join(dir, "x", "c", "0")
	if again, got := write(t, locate(t, dir), &checksums.Options{DANDI: true, Parts: readers(texts)}); again != list || got != want {
		t.Errorf("%+v: %s\nwant %+v: %s", got, again, want, list)
	}
	// Another program writes as many bytes at once, and puts back the old time.
	info := fixture.Must(os.Stat(name))
	if err := os.WriteFile(name, make([]byte, info.Size()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	again, _ := write(t, locate(t, dir), nil)
	if got, _ := write(t, locate(t, dir), &checksums.Options{Parts: readers(texts)}); got != again || got == list {
		t.Errorf("%s\nwant %s", got, again)
	}
}

// TestPartsRefused passes parts that are damaged, or that do not make a whole.
func TestPartsRefused(t *testing.T) {
	s := &sorted{Store: memtest.New()}
	for i := range 9 {
		fixture.Put(t, s.Store, fmt.Sprint(i), "value")
	}
	at := zarr.At(s, "")
	one, first, second := partOf(t, at, 0, 1, nil), partOf(t, at, 0, 2, nil), partOf(t, at, 1, 2, nil)
	lines := strings.SplitAfter(one, "\n")
	head := lines[0]
	for what, tt := range map[string]struct {
		parts []string
		words string
		dandi bool
	}{
		"missing":         {[]string{second}, "part 0 of 2 is missing: ", false},
		"most missing":    {[]string{partOf(t, at, 4, 9, nil)}, "part 0 of 9 is missing, and 7 more", false},
		"another number":  {[]string{one, first}, "does not belong", false},
		"without MD5":     {[]string{one}, "without Options.DANDI", true},
		"empty":           {[]string{""}, "cut off", false},
		"cut off":         {[]string{strings.Join(lines[:5], "")}, "line 6: it is cut off", false},
		"cut in a line":   {[]string{one[:len(one)/2]}, "", false},
		"a line less":     {[]string{strings.Join(slices.Delete(slices.Clone(lines), 3, 4), "")}, "the part has 9 values, and lists 8", false},
		"more":            {[]string{one + "\n"}, "more after the last line", false},
		"another's value": {[]string{first, strings.Replace(second, lines[0], head, 1) + lines[1]}, "", false},
		"wrong share":     {[]string{strings.Replace(first, `"task":0`, `"task":1`, 1), second}, "belongs to another part", false},
		"no part":         {[]string{"x\n"}, "line 1: not the beginning", false},
		"no share":        {[]string{`{"varve_checksums_part":1}`}, "not the beginning", false},
		"no key":          {[]string{head + "{}\n"}, "without a key", false},
		"no sum":          {[]string{head + `{"key":"x"}` + "\n"}, "0 digits", false},
		"a damaged sum":   {[]string{head + `{"key":"x","sha256":"` + strings.Repeat("x", 64) + `"}` + "\n"}, "line 2", false},
		"a negative size": {[]string{head + `{"key":"x","size":-1,"sha256":"` + strings.Repeat("0", 64) + `"}` + "\n"}, "size", false},
		"a long line":     {[]string{head + strings.Repeat(" ", 1<<20)}, "line 2: ", false},
	} {
		opt := &checksums.Options{Parts: readers(tt.parts), DANDI: tt.dandi}
		if _, err := checksums.Write(t.Context(), at, io.Discard, opt); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", what, err)
		}
		opt.Parts = readers(tt.parts)
		if _, err := checksums.Compare(t.Context(), at, strings.NewReader(""), opt); !tt.dandi && !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := checksums.Write(t.Context(), at, io.Discard, &checksums.Options{Parts: readers([]string{`{"varve_checksums_part":2}`})}); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	for _, share := range []transfer.Share{{Task: -1, Of: 2}, {Task: 2, Of: 2}, {Task: 1}, {Of: -1}} {
		if _, err := checksums.WritePart(t.Context(), at, share, io.Discard, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%v: %v", share, err)
		}
	}
	if _, err := checksums.WritePart(t.Context(), at, transfer.Share{}, io.Discard, &checksums.Options{Parts: readers([]string{one})}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
}

// TestPartFailure ends a part at a value that cannot be read. What was written of it is
// refused.
func TestPartFailure(t *testing.T) {
	s := &failing{Store: memtest.New()}
	for i := range 100 {
		fixture.Put(t, s.Store, fmt.Sprint(i), "value")
	}
	var text bytes.Buffer
	if _, err := checksums.WritePart(t.Context(), zarr.At(s, ""), transfer.Share{}, &text, nil); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	opt := &checksums.Options{Parts: []io.Reader{&text}}
	if _, err := checksums.Write(t.Context(), zarr.At(s.Store, ""), io.Discard, opt); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("%v", err)
	}
}

// FuzzParts reads damaged parts.
func FuzzParts(f *testing.F) {
	s := memtest.New()
	for _, key := range []string{"a", "b/c"} {
		if _, err := s.Write(context.Background(), store.Put(store.MustKey(key), []byte(key)), store.Sync); err != nil {
			f.Fatal(err)
		}
	}
	for of := range int64(2) {
		var text strings.Builder
		if _, err := checksums.WritePart(context.Background(), zarr.At(s, ""), transfer.Share{Of: of + 1}, &text, &checksums.Options{DANDI: true}); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text.String()))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var list strings.Builder
		report, err := checksums.Write(t.Context(), zarr.At(s, ""), &list, &checksums.Options{DANDI: true, Parts: []io.Reader{bytes.NewReader(text)}})
		if err == nil && (report.Values != 2 || report.Bytes != 4 || strings.Count(list.String(), "\n") != 2) {
			t.Errorf("%+v: %s", report, list.String())
		}
	})
}
