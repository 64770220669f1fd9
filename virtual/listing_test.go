// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// TestListings lists every folder of drawn manifests: flat listings have what the deep
// one has, and versions are those that Stat returns.
func TestListings(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		rank := 1 + r.IntN(3)
		l := &layout{Rand: r, plain: true}
		shape := make([]int64, rank)
		for i := range rank {
			l.chunk, l.names = append(l.chunk, 1+r.Int64N(3)), append(l.names, fmt.Sprintf("d%d", i))
			shape[i] = 1 + r.Int64N(9)
		}
		s := memtest.New()
		f := l.file(t, s, "f0", shape)
		joinAll(t, s, Join{Concat: l.names[r.IntN(rank)]}, []*drawnFile{f}, r)
		m, err := Open(t.Context(), s, mustPath(t, "m.vz"))
		if err != nil {
			t.Fatal(err)
		}
		from, err := newSites(t.Context(), s, store.Path{}, "/", "m.vz")
		if err != nil {
			t.Fatal(err)
		}
		v := newStore(m, from)
		all := map[string][]string{"": nil} // the names in each folder, folders with a slash
		for e, err := range store.List(t.Context(), v, store.Path{}, store.Deep|store.WithVersions) {
			if err != nil {
				t.Fatal(err)
			}
			info, err := v.Stat(t.Context(), store.MustKey(e.Name))
			if err != nil || info.Size != e.Size || info.Version != e.Version || e.Version.IsZero() {
				t.Errorf("seed %d: %s has %d bytes, version %s; want %d and %s (%v)", seed, e.Name, e.Size, e.Version, info.Size, info.Version, err)
			}
			for name := e.Name; name != "."; {
				dir := strings.TrimPrefix(path.Dir(strings.TrimSuffix(name, "/")), ".")
				if !slices.Contains(all[dir], name) {
					all[dir] = append(all[dir], name)
				}
				name = path.Dir(strings.TrimSuffix(name, "/"))
				if name != "." {
					name += "/"
				}
			}
		}
		all["none"], all["v/c/99"], all["v/d"], all["v/c/00"] = nil, nil, nil, nil
		for dir, want := range all {
			var got []string
			for e, err := range v.List(t.Context(), mustPath(t, dir), store.Flat) {
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimPrefix(dir+"/"+e.Name, "/")
				if e.Dir {
					name += "/"
				}
				got = append(got, name)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: %q has %q, want %q", seed, dir, got, want)
			}
		}
	}
}

// TestListingOfMany lists the folders of an array of many blocks: only those are read
// that have the first chunk of a folder. A plain listing reads no sources.
func TestListingOfMany(t *testing.T) {
	const planes = 3000
	s, at := storedWith(t, 84*planes, planes, []int64{1, 1, 1})
	for dir, want := range map[string]struct{ entries, blocks int }{"v": {2, 1}, "v/c/5": {12, 1}, "v/c/2999/3": {7, 2}, "v/c": {planes, 4}} {
		m, err := Open(t.Context(), s, at)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range newStore(m, nil).List(t.Context(), mustPath(t, dir), store.Flat) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want.entries || len(m.folder.kept.kept) > want.blocks {
			t.Errorf("%s: %d entries, %d blocks were read", dir, n, len(m.folder.kept.kept))
		}
	}
	m, err := Open(t.Context(), s, at)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range newStore(m, nil).List(t.Context(), store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 84*planes+2 || len(m.folder.kept.kept) != len(m.Arrays[0].blocks) {
		t.Errorf("%d entries, %d blocks were read", n, len(m.folder.kept.kept))
	}
}

// TestWaitForBlock reads a block that another caller is reading from a store that does
// not answer. Whoever gives up does not wait.
func TestWaitForBlock(t *testing.T) {
	s := memtest.New()
	files := line(t, s, 2)
	joinAll(t, s, Join{Concat: "time"}, files, rand.New(rand.NewPCG(1, 2)))
	asked, answer := make(chan struct{}), make(chan struct{})
	h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if strings.Contains(op.Key.String(), "blocks/") {
			close(asked)
			<-answer
		}
		return nil
	}})
	m, err := Open(t.Context(), h, mustPath(t, "m.vz"))
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error)
	go func() {
		_, _, err := m.reference(t.Context(), m.Arrays[0], 0)
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.reference(ctx, m.Arrays[0], 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has given up: %v", err)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestOpenAgain opens a folder for a caller who gives up, and again for another one.
func TestOpenAgain(t *testing.T) {
	var o openings
	ctx, cancel := context.WithCancel(t.Context())
	_, err := o.site(ctx, "x", func() (site, error) {
		cancel()
		return site{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s, n := memtest.New(), 0
	for range 2 {
		at, err := o.site(t.Context(), "x", func() (site, error) {
			n++
			return site{store: s}, nil
		})
		if err != nil || at.store != s {
			t.Errorf("%v (%v)", at, err)
		}
	}
	if n != 1 {
		t.Errorf("it is opened %d times", n)
	}
	if _, err := o.site(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has given up: %v", err)
	}
}

// unversioned is a store whose plain listings have no versions.
type unversioned struct{ memtest.Store }

func (s unversioned) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range store.List(ctx, s.Store, dir, how|store.WithVersions) {
			e.Version = store.Version{}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestVersionsOfNodes describes the chunks of a Zarr node by the versions that the store
// knows, also if its plain listing does not tell them.
func TestVersionsOfNodes(t *testing.T) {
	s := memtest.New()
	node := `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},` +
		`"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}`
	for name, text := range map[string]string{"a/zarr.json": node, "a/c/0": "12", "a/c/1": "34"} {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(name), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	p, err := OpenNode(t.Context(), unversioned{s}, mustPath(t, "a"), "s3://b/a", "s3")
	if err != nil {
		t.Fatal(err)
	}
	for i, source := range p.Manifest.Sources {
		info, err := s.Stat(t.Context(), store.MustKey(strings.TrimPrefix(source.Location, "s3://b/")))
		if err != nil || source.Version != "s3:"+info.Version.String() || source.Size != 2 {
			t.Errorf("source %d: %+v (%v)", i, source, err)
		}
	}
	if len(p.Manifest.Sources) != 2 {
		t.Errorf("sources %+v", p.Manifest.Sources)
	}
}
