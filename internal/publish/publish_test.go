// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

var errFault = errors.New("fault on purpose")

// recorder is a store that records its operations, and fails those that a test chooses.
type recorder struct {
	memtest.Store
	log  []string
	fail string // the operation that fails
}

// do records an operation and returns its error.
func (r *recorder) do(op, name string) error {
	if name != "" {
		op += " " + name
	}
	r.log = append(r.log, op)
	if op == r.fail {
		return errFault
	}
	return nil
}

func (r *recorder) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := r.do("get", key.String()); err != nil {
		return nil, store.Info{}, err
	}
	return r.Store.Get(ctx, key, q, dst)
}

func (r *recorder) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	if err := r.do("stat", key.String()); err != nil {
		return store.Info{}, err
	}
	return r.Store.Stat(ctx, key)
}

// recorded are the names of the recorded changes.
var recorded = map[store.Op]string{store.OpPut: "put", store.OpPutIf: "put-if", store.OpDelete: "delete"}

func (r *recorder) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if name := recorded[c.Op]; name != "" {
		if err := r.do(name, c.Key.String()); err != nil {
			return store.Written{}, err
		}
	}
	return r.Store.Write(ctx, c, d)
}

func (r *recorder) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := r.do("list", dir.String()); err != nil {
			yield(store.Entry{}, err)
			return
		}
		r.Store.List(ctx, dir, how)(yield)
	}
}

func (r *recorder) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	if err := r.do("lock", dir.String()); err != nil {
		return nil, err
	}
	unlock, err := r.Store.Lock(ctx, dir)
	return func() error { return errors.Join(r.do("unlock", dir.String()), unlock()) }, err
}

func (r *recorder) Batch(context.Context, store.Durability) (store.Batch, error) {
	return batch{r}, r.do("batch", "")
}

type batch struct{ r *recorder }

func (b batch) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

func (b batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.r.Write(ctx, c, store.Flush)
}

func (b batch) Commit(context.Context) error { return b.r.do("commit", "") }
func (b batch) Discard()                     {}

// taken returns the recorded operations and clears the record.
func (r *recorder) taken() string {
	defer func() { r.log = nil }()
	return strings.Join(r.log, ", ")
}

// prepared returns a store with the document "old" of a node "a" and a chunk.
func prepared(t *testing.T) (*recorder, publish.Node) {
	t.Helper()
	r := &recorder{Store: memtest.New()}
	for key, value := range map[string]string{"a/zarr.json": "old", "a/c/0": "chunk", "ab/c/0": "another"} {
		if _, err := r.Store.Write(t.Context(), store.Put(store.MustKey(key), []byte(value)), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	return r, publish.Node{Store: r, Path: at(t, "a"), Document: "zarr.json", Limit: 2000}
}

func at(t *testing.T, path string) store.Path {
	t.Helper()
	p, err := store.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wants checks a value in the store; "" means none.
func (r *recorder) wants(t *testing.T, key, want string) {
	t.Helper()
	got, _, err := r.Store.Get(context.Background(), store.MustKey(key), store.Request{}, nil)
	if string(got) != want || (want == "") != errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is %q (%v), want %q", key, got, err, want)
	}
}

// isFree checks that the lock of the node is free.
func (r *recorder) isFree(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	unlock, err := r.Store.Lock(ctx, at(t, "a"))
	if err != nil || unlock() != nil {
		t.Errorf("the lock is not let go: %v", err)
	}
}

// plan is what a test asks Update for.
type plan = func(publish.Document) (*publish.Change, error)

// grow is a change that adds a chunk and deletes another.
func grow(d publish.Document) (*publish.Change, error) {
	return &publish.Change{
		Document: append(d.Bytes, "+new"...),
		Stage: func(ctx context.Context, b store.Batch) error {
			_, err := b.Write(ctx, store.Put(store.MustKey("a/c/1"), []byte("x")))
			return err
		},
		Reclaim: func(ctx context.Context, b store.Batch) error {
			_, err := b.Write(ctx, store.Delete(store.MustKey("a/c/0")))
			return err
		},
	}, nil
}

const (
	staged    = "lock a, get a/zarr.json, get a/__varve/pending.json, batch, put a/c/1, commit"
	published = staged + ", put-if a/zarr.json"
	reclaimed = published + ", batch, delete a/c/0, commit"
)

func TestUpdateOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		plan plan
		want string
	}{
		{"everything", grow, reclaimed + ", unlock a"},
		{"document only", func(publish.Document) (*publish.Change, error) {
			return &publish.Change{Document: []byte("new")}, nil
		}, "lock a, get a/zarr.json, get a/__varve/pending.json, put-if a/zarr.json, unlock a"},
		{"nothing", func(publish.Document) (*publish.Change, error) { return nil, nil }, "lock a, get a/zarr.json, get a/__varve/pending.json, unlock a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n := prepared(t)
			if err := publish.Update(t.Context(), n, tt.plan); err != nil {
				t.Fatal(err)
			}
			if got := r.taken(); got != tt.want {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
			r.isFree(t)
		})
	}
}

// TestUpdateFaults fails each operation: only the unlock follows, and the document is the
// new one only if it was published.
func TestUpdateFaults(t *testing.T) {
	for _, tt := range []struct{ fail, log, document string }{
		{"lock a", "lock a", "old"},
		{"get a/zarr.json", "lock a, get a/zarr.json, unlock a", "old"},
		{"put a/c/1", "lock a, get a/zarr.json, get a/__varve/pending.json, batch, put a/c/1, unlock a", "old"},
		{"put-if a/zarr.json", published + ", get a/zarr.json, unlock a", "old"},
		{"delete a/c/0", published + ", batch, delete a/c/0, unlock a", "old+new"},
		{"unlock a", reclaimed + ", unlock a", "old+new"},
		{"batch", "lock a, get a/zarr.json, get a/__varve/pending.json, batch, unlock a", "old"},
		{"commit", staged + ", unlock a", "old"},
	} {
		t.Run(tt.fail, func(t *testing.T) {
			r, n := prepared(t)
			r.fail = tt.fail
			err := publish.Update(t.Context(), n, grow)
			if done := tt.document != "old"; !errors.Is(err, errFault) || errors.Is(err, publish.ErrIncomplete) != done {
				t.Errorf("error is %v; published %t", err, done)
			}
			if got := r.taken(); got != tt.log {
				t.Errorf("%s\nwant\n%s", got, tt.log)
			}
			r.wants(t, "a/zarr.json", tt.document)
			r.isFree(t)
		})
	}
}

// TestUpdatePlan fails in the caller's code: in the plan, in a stage, and with a panic.
func TestUpdatePlan(t *testing.T) {
	broken := func(context.Context, store.Batch) error { return errFault }
	for _, tt := range []struct {
		name     string
		plan     plan
		document string
	}{
		{"plan", func(publish.Document) (*publish.Change, error) { return nil, errFault }, "old"},
		{"stage", func(publish.Document) (*publish.Change, error) {
			return &publish.Change{Document: []byte("new"), Stage: broken}, nil
		}, "old"},
		{"reclaim", func(publish.Document) (*publish.Change, error) {
			return &publish.Change{Document: []byte("new"), Reclaim: broken}, nil
		}, "new"},
		{"panic", func(publish.Document) (*publish.Change, error) { panic(errFault) }, "old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n := prepared(t)
			if err := safely(func() error { return publish.Update(t.Context(), n, tt.plan) }); !errors.Is(err, errFault) {
				t.Errorf("error is %v", err)
			}
			r.wants(t, "a/zarr.json", tt.document)
			r.wants(t, "a/c/0", "chunk")
			r.isFree(t)
		})
	}
}

// safely returns what do returns or panics with.
func safely(do func() error) (err error) {
	defer func() {
		if p, ok := recover().(error); ok {
			err = p
		}
	}()
	return do()
}

// TestPublished checks that Published is called under the lock with the new version, and
// that a cancelled context does not stop the reclaiming after it.
func TestPublished(t *testing.T) {
	r, n := prepared(t)
	ctx, cancel := context.WithCancel(t.Context())
	var version store.Version
	err := publish.Update(ctx, n, func(document publish.Document) (*publish.Change, error) {
		c, err := grow(document)
		c.Published = func(v store.Version) {
			version = v
			r.do("published", "")
			cancel()
		}
		return c, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.taken(), published+", published, batch, delete a/c/0, commit, unlock a"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	info, err := r.Store.Stat(t.Context(), store.MustKey("a/zarr.json"))
	if err != nil || version != info.Version {
		t.Errorf("version %q was told, it is %q (%v)", version, info.Version, err)
	}
}

// lossy is a store that loses the answer to a conditional write, and perhaps the next
// one.
type lossy struct {
	*recorder
	written, deaf bool
}

func (l lossy) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op != store.OpPutIf {
		return l.recorder.Write(ctx, c, d)
	}
	if l.written {
		if _, err := l.recorder.Write(ctx, c, d); err != nil {
			return store.Written{}, err
		}
	}
	if l.deaf {
		l.fail = "get " + c.Key.String()
	}
	return store.Written{}, errFault
}

// TestLostAnswer reads the document after the answer to its write was lost.
func TestLostAnswer(t *testing.T) {
	for _, tt := range []struct {
		name          string
		written, deaf bool
		want          error
	}{
		{"written", true, false, nil},
		{"not written", false, false, errFault},
		{"nobody can tell", true, true, publish.ErrOutcomeUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n := prepared(t)
			n.Store = lossy{r, tt.written, tt.deaf}
			err := publish.Update(t.Context(), n, grow)
			if !errors.Is(err, tt.want) || errors.Is(err, publish.ErrOutcomeUnknown) != tt.deaf {
				t.Errorf("update: error is %v, want %v", err, tt.want)
			}
			n.Path = at(t, "b")
			if _, err = publish.Create(t.Context(), n, []byte("new")); !errors.Is(err, tt.want) || errors.Is(err, publish.ErrOutcomeUnknown) != tt.deaf {
				t.Errorf("create: error is %v, want %v", err, tt.want)
			}
			r.isFree(t)
		})
	}
}

// lost is a store whose bucket does not exist any more once it is written to.
type lost struct{ *recorder }

func (n lost) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op != store.OpPutIf {
		return n.recorder.Write(ctx, c, d)
	}
	n.fail = "get " + c.Key.String()
	return store.Written{}, store.ErrNoBucket
}

// TestNoBucket publishes into a bucket that is gone. The service has answered that, so
// the outcome is known although the document cannot be read.
func TestNoBucket(t *testing.T) {
	r, n := prepared(t)
	n.Store = lost{r}
	err := publish.Update(t.Context(), n, grow)
	if !errors.Is(err, store.ErrNoBucket) || errors.Is(err, publish.ErrOutcomeUnknown) {
		t.Errorf("update: %v", err)
	}
	n.Path = at(t, "b")
	if _, err = publish.Create(t.Context(), n, []byte("new")); !errors.Is(err, store.ErrNoBucket) || errors.Is(err, publish.ErrOutcomeUnknown) {
		t.Errorf("create: %v", err)
	}
}

// forbidding is a store that refuses all requests for the document once it is written to.
type forbidding struct{ *recorder }

func (f forbidding) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op != store.OpPutIf {
		return f.recorder.Write(ctx, c, d)
	}
	f.fail = "get " + c.Key.String()
	return store.Written{}, driver.Refused(fs.ErrPermission)
}

// TestRefused publishes without permission. The error is that of the service, although
// the document cannot be read either.
func TestRefused(t *testing.T) {
	r, n := prepared(t)
	n.Store = forbidding{r}
	err := publish.Update(t.Context(), n, grow)
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, publish.ErrOutcomeUnknown) {
		t.Errorf("update: %v", err)
	}
	n.Path = at(t, "b")
	if _, err = publish.Create(t.Context(), n, []byte("new")); !errors.Is(err, fs.ErrPermission) || errors.Is(err, publish.ErrOutcomeUnknown) {
		t.Errorf("create: %v", err)
	}
}

// TestUpdateConflict lets a writer that takes no lock publish in between: the update is
// refused, and then succeeds on top.
func TestUpdateConflict(t *testing.T) {
	r, n := prepared(t)
	key, first := store.MustKey("a/zarr.json"), true
	grow := func(document publish.Document) (*publish.Change, error) {
		c, err := grow(document)
		c.Stage = func(ctx context.Context, b store.Batch) error {
			if !first {
				return nil
			}
			first = false
			_, err := r.Store.Write(ctx, store.Put(key, []byte("theirs")), store.Sync)
			return err
		}
		return c, err
	}
	if err := publish.Update(t.Context(), n, grow); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("error is %v", err)
	}
	r.wants(t, "a/zarr.json", "theirs")
	r.wants(t, "a/c/0", "chunk")
	r.isFree(t)
	if err := publish.Update(t.Context(), n, grow); err != nil {
		t.Fatal(err)
	}
	r.wants(t, "a/zarr.json", "theirs+new")
}

func TestUpdateRefuses(t *testing.T) {
	r, n := prepared(t)
	n.Limit = 2
	if err := publish.Update(t.Context(), n, grow); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a document beyond the limit: %v", err)
	}
	n.Path = at(t, "b")
	if err := publish.Update(t.Context(), n, grow); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no document: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n.Path, n.Limit = at(t, "a"), 0
	if err := publish.Update(ctx, n, grow); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	r.wants(t, "a/zarr.json", "old")
	r.isFree(t)
}

// versionless is a store without versions, so conditions never hold.
type versionless struct{ *recorder }

func (v versionless) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := v.recorder.Get(ctx, key, q, dst)
	return out, store.Info{Size: info.Size}, err
}

// TestUpdateFewPowers changes a node in stores that lack capabilities.
func TestUpdateFewPowers(t *testing.T) {
	for _, tt := range []struct {
		name string
		only func(*recorder) store.Store
		safe bool // without the caller's word
	}{
		{"neither locks nor versions", func(r *recorder) store.Store {
			v := versionless{r}
			return struct {
				store.Store
				store.Writer
			}{v, fixture.Only(v, store.OpPut, store.OpPutIf, store.OpDelete)}
		}, false},
		{"read and write", func(r *recorder) store.Store {
			return struct {
				store.Store
				store.Writer
			}{r, fixture.Only(r, store.OpPut, store.OpDelete)}
		}, false},
		{"no conditions", func(r *recorder) store.Store {
			return struct {
				store.Store
				store.Writer
				store.Locker
			}{r, fixture.Only(r, store.OpPut, store.OpDelete), r}
		}, true},
		{"no versions", func(r *recorder) store.Store { return versionless{r} }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n := prepared(t)
			n.Store = tt.only(r)
			err := publish.Update(t.Context(), n, grow)
			if tt.safe != (err == nil) || !tt.safe && (!errors.Is(err, publish.ErrUnsafe)) {
				t.Errorf("error is %v", err)
			}
			if !tt.safe {
				r.wants(t, "a/zarr.json", "old")
				n.SingleWriter = true
				if err := publish.Update(t.Context(), n, grow); err != nil {
					t.Fatal(err)
				}
			}
			r.wants(t, "a/zarr.json", "old+new")
			r.wants(t, "a/c/0", "")
			r.isFree(t)
		})
	}
	r, n := prepared(t)
	n.Store, n.SingleWriter = struct{ store.Store }{r}, true
	if err := publish.Update(t.Context(), n, grow); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a store that cannot write: %v", err)
	}
}

func TestCreate(t *testing.T) {
	for name, only := range map[string]func(*recorder) store.Store{
		"conditions": func(r *recorder) store.Store { return r },
		"none": func(r *recorder) store.Store {
			return struct {
				store.Store
				store.Writer
			}{r, fixture.Only(r, store.OpPut)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, n := prepared(t)
			n.Store = only(r)
			if _, err := publish.Create(t.Context(), n, []byte("new")); !errors.Is(err, store.ErrConflict) {
				t.Errorf("over a node: %v", err)
			}
			r.wants(t, "a/zarr.json", "old")
			n.Path = at(t, "b/c")
			if _, err := publish.Create(t.Context(), n, []byte("new")); err != nil {
				t.Fatal(err)
			}
			r.wants(t, "b/c/zarr.json", "new")
			r.fail, n.Path = "get a/zarr.json", at(t, "a")
			if _, err := publish.Create(t.Context(), n, []byte("new")); err == nil {
				t.Error("a node was created over another that could not be looked at")
			}
		})
	}
	r, n := prepared(t)
	n.Store, n.Path = struct{ store.Store }{r}, at(t, "b")
	if _, err := publish.Create(t.Context(), n, nil); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a store that cannot write: %v", err)
	}
}

// TestRemove deletes the document before everything else, under the lock, after a listing
// has shown that all names can be deleted. It deletes nothing of a node whose name has
// the same prefix.
func TestRemove(t *testing.T) {
	const documents = "stat a/.zgroup, stat a/.zarray, stat a/zarr.json, "
	const removed = "list a, stat a/.zarray, stat a/.zgroup, get a/zarr.json, lock a, get a/__varve/pending.json, " + documents + "delete a/zarr.json, stat a/.zmetadata, stat a/.zattrs, " +
		"put a/__varve/unfinished.json, list a, batch, commit, batch, list a, delete a/c/0, commit, delete a/__varve/unfinished.json"
	for document, want := range map[string]string{"": removed + ", unlock a", "new": removed + ", put-if a/zarr.json, unlock a"} {
		r, n := prepared(t)
		err := error(nil)
		if document == "" {
			err = publish.Remove(t.Context(), n, nil)
		} else {
			_, err = publish.Replace(t.Context(), n, []byte(document))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := r.taken(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		r.wants(t, "a/zarr.json", document)
		r.wants(t, "a/c/0", "")
		r.wants(t, "ab/c/0", "another")
	}
	r, n := prepared(t)
	r.fail = "put a/__varve/unfinished.json" // as on a full disk
	if err := publish.Remove(t.Context(), n, nil); err != nil {
		t.Errorf("without a note: %v", err)
	}
	r.wants(t, "a/c/0", "")
	for fail, document := range map[string]string{
		"lock a": "old", "delete a/zarr.json": "old", "list a": "old", "delete a/c/0": "", "batch": "", "commit": "", "unlock a": "new",
	} {
		r, n := prepared(t)
		r.fail = fail
		if _, err := publish.Replace(t.Context(), n, []byte("new")); !errors.Is(err, errFault) {
			t.Errorf("%s: error is %v", fail, err)
		}
		r.wants(t, "a/zarr.json", document)
		r.isFree(t)
	}
}
