// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestSettle finds out what became of writes, by the error of the last attempt and by
// what is there then.
func TestSettle(t *testing.T) {
	lost, broken := errors.New("the connection was cut"), driver.Temporary(errors.New("busy"), 0)
	denied := &driver.Fault{Status: http.StatusForbidden, Kind: fs.ErrPermission}
	unmet := &driver.Fault{Status: http.StatusPreconditionFailed, Kind: store.ErrConflict}
	absent := &driver.Fault{Status: http.StatusNotFound, Kind: fs.ErrNotExist}
	const unknown = "it is not known whether the change was made"
	for name, c := range map[string]struct {
		err         error // of the last attempt
		doubt       bool
		marked      bool
		look        error
		text        string // of the error
		wraps       error
		wantVersion string
	}{
		"written":              {wantVersion: "made"},
		"answer lost, written": {err: lost, doubt: true, marked: true, wantVersion: "found"},
		"answer lost, another": {err: lost, doubt: true, text: unknown},
		"answer lost, nothing": {err: lost, doubt: true, look: absent, text: unknown},
		"answer lost, unseen":  {err: lost, doubt: true, look: broken, text: "then the blob could not be looked at: busy"},
		"lost, then unmet":     {err: unmet, doubt: true, text: unknown},
		"delivered twice":      {err: unmet, marked: true, wantVersion: "found"},
		"unmet":                {err: unmet, text: "412", wraps: store.ErrConflict},
		"unmet, may not look":  {err: unmet, look: denied, text: "412", wraps: store.ErrConflict},
		"unmet, unseen":        {err: unmet, look: broken, text: unknown},
		"no object":            {err: absent, text: "there is no value", wraps: store.ErrConflict},
		"refused":              {err: denied, text: "403", wraps: store.ErrRefused},
		"lost, then refused":   {err: denied, doubt: true, look: broken, text: unknown},
	} {
		w := driver.Write{Noun: "blob", HasVersion: true, Look: func(context.Context) (string, bool, error) { return "found", c.marked, c.look }}
		made := ""
		if c.err == nil {
			made = "made"
		}
		got, err := w.Settle(t.Context(), made, c.err, c.doubt)
		switch {
		case c.wantVersion != "" && (err != nil || got != c.wantVersion):
			t.Errorf("%s: %q (%v), want %q", name, got, err, c.wantVersion)
		case c.wantVersion == "" && (err == nil || !strings.Contains(err.Error(), c.text) || c.wraps != nil && !errors.Is(err, c.wraps)):
			t.Errorf("%s: %v, want %q", name, err, c.text)
		case c.text == unknown && (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrRefused)):
			t.Errorf("%s: %v says that nothing has changed", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (driver.Write{}).Settle(ctx, "", lost, true); !errors.Is(err, lost) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// TestDeletions deletes on a condition, with answers that are lost.
func TestDeletions(t *testing.T) {
	lost := driver.Temporary(io.ErrUnexpectedEOF, 0)
	for name, c := range map[string]struct {
		attempts []error
		conflict bool
		text     string
	}{
		"deleted":            {attempts: []error{nil}},
		"after a lost one":   {attempts: []error{lost, nil}},
		"of another version": {attempts: []error{store.ErrConflict}, conflict: true, text: "another writer"},
		"missing":            {attempts: []error{fs.ErrNotExist}, conflict: true, text: "there is no value"},
		"lost, then missing": {attempts: []error{lost, fs.ErrNotExist}, text: "not known"},
		"unsent, then none":  {attempts: []error{&driver.Unsent{Err: lost, Passes: true}, fs.ErrNotExist}, conflict: true},
	} {
		n := 0
		do := driver.Attempts(func(ctx context.Context, attempt func(context.Context) error) (err error) {
			for range c.attempts {
				if err = attempt(ctx); err == nil || !driver.IsTemporary(err) && !errors.Is(err, lost) {
					break
				}
			}
			return err
		})
		_, err := do.Delete(t.Context(), func(context.Context) error { n++; return c.attempts[n-1] })
		if (err != nil) != (c.attempts[n-1] != nil) || n != len(c.attempts) || errors.Is(err, store.ErrConflict) != c.conflict {
			t.Errorf("%s: %v after %d attempts", name, err, n)
		}
		if errors.Is(err, fs.ErrNotExist) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShared asks one question for many callers. One that gives up does not end it.
func TestShared(t *testing.T) {
	var s driver.Shared[int]
	asked, proceed, n := make(chan struct{}), make(chan struct{}), 0
	ask := func() (int, error) {
		n++
		close(asked)
		<-proceed
		return 7, nil
	}
	known := func() (int, bool) { return 7, n > 0 }
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := s.Get(ctx, nil, ask); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-asked
	for range 10 {
		group.Go(func() {
			if got, err := s.Get(t.Context(), known, ask); got != 7 || err != nil {
				t.Error(got, err)
			}
		})
	}
	cancel()
	close(proceed)
	group.Wait()
	if got, err := s.Get(t.Context(), known, nil); got != 7 || err != nil || n != 1 {
		t.Errorf("%d (%v), asked %d times", got, err, n)
	}
}

// TestPages lists pages, with a service that sends one again, and one that fails.
func TestPages(t *testing.T) {
	dir, err := store.ParsePath("d")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"": "1", "1": "2", "2": "", "again": "again", "same": "again"}
	for first, c := range map[string]struct {
		stop int
		want string
	}{
		"": {3, "0 1 2"}, "1": {3, "0 1"}, "stopped": {1, "0"}, "same": {9, `0 1 bucket b: cannot list "p/d/": the service sends the same page again`},
	} {
		var got []string
		n := 0
		for e, err := range driver.Pages("bucket b", "p/", dir, func(prefix, token string, yield func(store.Entry, error) bool) (string, bool, error) {
			if token == "" && first != "stopped" {
				token = first
			}
			more := prefix == "p/d/" && yield(store.Entry{Name: fmt.Sprint(n)}, nil)
			n++
			return pages[token], more, nil
		}) {
			if err != nil {
				got = append(got, err.Error())
				break
			}
			if got = append(got, e.Name); len(got) == c.stop {
				break
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q: %s, want %s", first, text, c.want)
		}
	}
	for _, err := range driver.Pages("bucket b", "p/", store.Path{}, func(string, string, func(store.Entry, error) bool) (string, bool, error) {
		return "", false, fs.ErrPermission
	}) {
		if !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(err.Error(), `bucket b: cannot list "p/": `) {
			t.Error(err)
		}
	}
}

// TestUnsent turns an error of the credentials into an answer, and that into a fault.
func TestUnsent(t *testing.T) {
	for status, err := range map[int]error{
		http.StatusUnauthorized: fmt.Errorf("%w: no key", fs.ErrPermission), http.StatusNotImplemented: fmt.Errorf("%w: https only", store.ErrUnsupported),
	} {
		r := driver.UnsentAnswer(nil, fmt.Errorf("sending: %w", &driver.Unsent{Err: err}))
		if r == nil || r.StatusCode != status {
			t.Fatalf("%v: %v", err, r)
		}
		if f := driver.UnsentFault(r); f == nil || f.Message != err.Error() || !driver.IsRefusal(f) {
			t.Errorf("%v: %v", err, f)
		}
	}
	passing := &driver.Unsent{Err: io.EOF, Passes: true}
	if r := driver.UnsentAnswer(nil, passing); r != nil || driver.UnsentAnswer(nil, io.EOF) != nil {
		t.Errorf("an error that may pass: %v", r)
	}
	if f := driver.UnsentFault(&http.Response{StatusCode: http.StatusUnauthorized}); f != nil {
		t.Error(f)
	}
	if driver.IsUncertain(passing) || !driver.IsUncertain(io.EOF) || driver.IsUncertain(&driver.Fault{Status: 400}) || !driver.IsUncertain(&driver.Fault{Status: 502}) {
		t.Error("what may have been carried out")
	}
}

// maker records how a value is made.
type maker struct{ how string }

func (m *maker) Put(context.Context, []byte) (store.Version, error) {
	m.how = "put"
	return store.Version{}, nil
}

func (m *maker) Assemble(_ context.Context, from store.Store, _ []store.Part) (store.Version, error) {
	m.how = fmt.Sprintf("assemble of %T", from)
	return store.Version{}, nil
}

func (m *maker) Fail(what string, err error) error { return fmt.Errorf("cannot %s: %w", what, err) }

// TestMake makes values of changes. A value to splice has to be of its version.
func TestMake(t *testing.T) {
	ctx, s, key := t.Context(), memstore.New(), store.MustKey("a")
	made, err := store.Write(ctx, s, store.Put(key, []byte("value")), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	other := store.MakeVersion("other")
	for name, c := range map[string]struct {
		change store.Change
		how    string
	}{
		"put":               {store.Put(key, nil), "put"},
		"assemble":          {store.Assemble(key, nil), fmt.Sprintf("assemble of %T", s)},
		"splice":            {store.Change{Op: store.OpSplice, Key: key, If: store.IfVersion(made.Version)}, fmt.Sprintf("assemble of %T", s)},
		"splice of another": {store.Change{Op: store.OpSplice, Key: key, If: store.IfVersion(other)}, ""},
		"splice of none":    {store.Change{Op: store.OpSplice, Key: store.MustKey("b"), If: store.IfVersion(other)}, ""},
	} {
		m := &maker{}
		_, err := driver.Make(ctx, s, c.change, m)
		if m.how != c.how || (err == nil) != (c.how != "") || err != nil && (!errors.Is(err, store.ErrConflict) || !strings.HasPrefix(err.Error(), "cannot splice: ")) {
			t.Errorf("%s: %q (%v)", name, m.how, err)
		}
	}
	if driver.HasNoCondition(store.Put(key, nil)) || driver.HasNoCondition(store.PutIf(key, nil, store.IfAbsent())) || !driver.HasNoCondition(store.PutIf(key, nil, store.Condition{})) {
		t.Error("what has no condition")
	}
}
