// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// chunks fills a directory with 10,000 values of 400 bytes, three levels down.
func chunks(b *testing.B) (dir string, keys []store.Key) {
	dir = b.TempDir()
	s := open(b, dir, nil)
	for i := range 10_000 {
		keys = append(keys, store.MustKey(fmt.Sprintf("t2m/c/%d/%d", i/100, i%100)))
		if _, err := s.Write(b.Context(), store.Put(keys[i], make([]byte, 400)), store.Flush); err != nil {
			b.Fatal(err)
		}
	}
	return dir, keys
}

func BenchmarkGet(b *testing.B) {
	dir, keys := chunks(b)
	s, ctx := open(b, dir, nil), b.Context()
	buf := make([]byte, 0, 400)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		var err error
		if buf, _, err = s.Get(ctx, keys[i%len(keys)], store.Request{}, buf[:0]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkReadFile does the work of BenchmarkGet with package os, for comparison.
func BenchmarkReadFile(b *testing.B) {
	dir, keys := chunks(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := os.ReadFile(filepath.Join(dir, keys[i%len(keys)].String())); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkGetMissing(b *testing.B) {
	s := open(b, b.TempDir(), nil)
	put(b, s, "t2m/c/0/0", "")
	key := store.MustKey("t2m/c/0/1")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Get(b.Context(), key, store.Request{}, nil); err == nil {
			b.Fatal("no error")
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for name, d := range map[string]store.Durability{"Sync": store.Sync, "Flush": store.Flush} {
		b.Run(name, func(b *testing.B) {
			s, value := open(b, b.TempDir(), nil), make([]byte, 400)
			i := 0
			for b.Loop() {
				key := store.MustKey(fmt.Sprintf("c/%d", i%256))
				if _, err := s.Write(b.Context(), store.Put(key, value), d); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkBatch writes 256 values of 64 KiB from 16 goroutines in one batch, with and
// without conditions.
func BenchmarkBatch(b *testing.B) {
	b.Run("Put", func(b *testing.B) {
		benchmarkBatch(b, func(ctx context.Context, t store.Batch, key store.Key, value []byte) error {
			_, err := t.Write(ctx, store.Put(key, value))
			return err
		})
	})
	b.Run("PutIf", func(b *testing.B) {
		benchmarkBatch(b, func(ctx context.Context, t store.Batch, key store.Key, value []byte) error {
			_, err := t.Write(ctx, store.PutIf(key, value, store.IfAbsent()))
			return err
		})
	})
}

func benchmarkBatch(b *testing.B, put func(context.Context, store.Batch, store.Key, []byte) error) {
	s, value, round := open(b, b.TempDir(), nil), make([]byte, 64<<10), 0
	for b.Loop() {
		batch, err := s.Batch(b.Context(), store.Sync)
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 16 {
					if err := put(b.Context(), batch, store.MustKey(fmt.Sprintf("%d/%d/%d", round, g, i)), value); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := batch.Commit(b.Context()); err != nil {
			b.Fatal(err)
		}
		round++
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

// BenchmarkReplacePart replaces 1 MiB in the middle of a value of 256 MiB: by a splice,
// and by reading and writing the whole value.
func BenchmarkReplacePart(b *testing.B) {
	const size, part = 256 << 20, 1 << 20
	key, fresh := store.MustKey("k"), make([]byte, part)
	fragments := []store.Part{{Off: 0, N: size / 2}, {Data: fresh}, {Off: size/2 + part, N: size/2 - part}}
	for name, replace := range map[string]func(ctx context.Context, s store.Store, from store.Version, d store.Durability) error{
		"Splice": func(ctx context.Context, s store.Store, from store.Version, d store.Durability) error {
			_, err := store.Write(ctx, s, store.Splice(key, from, fragments), d)
			return err
		},
		"GetPut": func(ctx context.Context, s store.Store, from store.Version, d store.Durability) error {
			value, _, err := s.Get(ctx, key, store.Request{}, nil)
			if err != nil {
				return err
			}
			copy(value[size/2:], fresh)
			_, err = store.Write(ctx, s, store.PutIf(key, value, store.IfVersion(from)), d)
			return err
		},
	} {
		for label, d := range map[string]store.Durability{"Sync": store.Sync, "Flush": store.Flush} {
			b.Run(name+"/"+label, func(b *testing.B) {
				s := open(b, b.TempDir(), nil)
				if _, err := s.Write(b.Context(), store.Put(key, make([]byte, size)), d); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					if err := replace(b.Context(), s, present(b, s, "k"), d); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkListFlat(b *testing.B) {
	dir, _ := chunks(b)
	s := open(b, dir, nil)
	below, err := store.ParsePath("t2m/c/7")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, err := range s.List(b.Context(), below, store.Flat) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkListVersions lists 10,000 values with their versions: by one listing, by a
// plain listing and a Stat of each, and without versions for comparison.
func BenchmarkListVersions(b *testing.B) {
	dir, _ := chunks(b)
	s := open(b, dir, nil)
	for name, list := range map[string]func(ctx context.Context) iter.Seq2[store.Entry, error]{
		"ListVersions": func(ctx context.Context) iter.Seq2[store.Entry, error] {
			return s.List(ctx, store.Path{}, store.Deep|store.WithVersions)
		},
		"Stat": func(ctx context.Context) iter.Seq2[store.Entry, error] {
			return store.List(ctx, unversioned{s}, store.Path{}, store.Deep|store.WithVersions)
		},
		"List": func(ctx context.Context) iter.Seq2[store.Entry, error] { return s.List(ctx, store.Path{}, store.Deep) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range list(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "values/s")
		})
	}
}

// BenchmarkClone gives 10,000 values of 64 KiB other keys, from 16 goroutines in one
// batch: by Clone, by CopyFrom, and by reading and writing as cp does. CloneOne gives one
// value to 10,000 keys.
func BenchmarkClone(b *testing.B) {
	const values, size = 10_000, 64 << 10
	for label, d := range map[string]store.Durability{"Sync": store.Sync, "Flush": store.Flush} {
		dir := b.TempDir()
		s := open(b, dir, nil)
		sources := make([]store.Key, values)
		for i := range sources {
			sources[i] = store.MustKey(fmt.Sprintf("old/%d/%d", i/100, i%100))
			if _, err := s.Write(b.Context(), store.Put(sources[i], make([]byte, size)), store.Flush); err != nil {
				b.Fatal(err)
			}
		}
		for name, do := range map[string]func(ctx context.Context, t store.Batch, key, source store.Key) error{
			"Clone": func(ctx context.Context, t store.Batch, key, source store.Key) error {
				_, err := t.Write(ctx, store.Clone(key, source, store.Version{}))
				return err
			},
			"CloneOne": func(ctx context.Context, t store.Batch, key, _ store.Key) error {
				_, err := t.Write(ctx, store.Clone(key, sources[0], store.Version{}))
				return err
			},
			"CopyFrom": func(ctx context.Context, t store.Batch, key, source store.Key) error {
				_, err := t.Write(ctx, store.Copy(key, s, source))
				return err
			},
			"GetPut": func(ctx context.Context, t store.Batch, key, source store.Key) error {
				value, _, err := s.Get(ctx, source, store.Request{}, nil)
				if err != nil {
					return err
				}
				_, err = t.Write(ctx, store.Put(key, value))
				return err
			},
		} {
			b.Run(name+"/"+label, func(b *testing.B) {
				for b.Loop() {
					t, err := s.Batch(b.Context(), d)
					if err != nil {
						b.Fatal(err)
					}
					var wg sync.WaitGroup
					for g := range 16 {
						wg.Go(func() {
							for i := g; i < values; i += 16 {
								key := store.MustKey(fmt.Sprintf("new/%d/%d", i%100, i/100))
								if err := do(b.Context(), t, key, sources[i]); err != nil {
									b.Error(err)
								}
							}
						})
					}
					wg.Wait()
					if err := t.Commit(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkAssemble makes one value of 365 values of 1 MiB, of each without its last KiB:
// by Assemble, and by reading and writing.
func BenchmarkAssemble(b *testing.B) {
	const values, size = 365, 1 << 20
	dir := b.TempDir()
	s := open(b, dir, nil)
	parts := make([]store.Part, values)
	for i := range parts {
		parts[i] = store.Part{Key: store.MustKey(fmt.Sprintf("day/%d", i)), N: size - 1<<10}
		if _, err := s.Write(b.Context(), store.Put(parts[i].Key, make([]byte, size)), store.Flush); err != nil {
			b.Fatal(err)
		}
	}
	key := store.MustKey("year")
	for name, do := range map[string]func(ctx context.Context, d store.Durability) error{
		"Assemble": func(ctx context.Context, d store.Durability) error {
			_, err := s.Write(ctx, store.Assemble(key, parts), d)
			return err
		},
		"GetPut": func(ctx context.Context, d store.Durability) error {
			var value []byte
			var err error
			for _, p := range parts {
				q := store.Request{Range: store.Span(p.Off, p.N)}
				if value, _, err = s.Get(ctx, p.Key, q, value); err != nil {
					return err
				}
			}
			_, err = s.Write(ctx, store.Put(key, value), d)
			return err
		},
	} {
		for label, d := range map[string]store.Durability{"Sync": store.Sync, "Flush": store.Flush} {
			b.Run(name+"/"+label, func(b *testing.B) {
				b.SetBytes(values * (size - 1<<10))
				b.ReportAllocs()
				for b.Loop() {
					if err := do(b.Context(), d); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// unversioned is a store whose listings know no versions.
type unversioned struct{ *filestore.Store }

func (u unversioned) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return u.Store.List(ctx, dir, how&^store.WithVersions)
}
