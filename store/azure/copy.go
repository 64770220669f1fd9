// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// copyFrom copies the source of a change.
func (s *Store) copyFrom(ctx context.Context, c store.Change) (made store.Written, err error) {
	if err := s.mayWrite(c.Key); err != nil {
		return made, err
	}
	other, ok := store.Driver(c.From).(*Store)
	if !ok || !s.sees(other) {
		return made, store.ErrUnsupported
	}
	made, err = s.clone(ctx, c.Key, other, c.Source, store.Version{})
	if err != nil {
		return made, s.fail("copy "+other.name(c.Source)+" to this blob", c.Key, err)
	}
	return store.Written{Version: made.Version, Size: made.Size}, nil
}

// cloneValue copies a blob on the condition that it is of its version.
func (s *Store) cloneValue(ctx context.Context, c store.Change) (store.Written, error) {
	if err := s.mayWrite(c.Key); err != nil {
		return store.Written{}, err
	}
	if from := c.SourceVersion; !isTag(from) && !from.IsZero() {
		return store.Written{}, s.fail("clone", c.Source, driver.NoVersion(from, noun))
	}
	made, err := s.clone(ctx, c.Key, s, c.Source, c.SourceVersion)
	if err != nil {
		return store.Written{}, s.fail("clone "+s.blob(c.Source)+" to this blob", c.Key, err)
	}
	if c.Key == c.Source {
		made.Source = made.Version
	}
	return made, nil
}

// cloneTries is the number of attempts to copy a source that others replace.
const cloneTries = 5

// clone copies a blob of version from, or of the one that it has if from is zero.
func (s *Store) clone(ctx context.Context, key store.Key, other *Store, source store.Key, from store.Version) (made store.Written, err error) {
	// A rival may replace the source between the request that looks at it and the copy.
	for range cloneTries {
		var info store.Info
		var scope string
		info, scope, err = other.describe(ctx, source)
		switch {
		case driver.IsMissing(err) && !from.IsZero():
			return store.Written{}, driver.Conflict(err)
		case err != nil:
			return store.Written{}, err
		case !from.IsZero() && info.Version != from:
			return store.Written{}, fmt.Errorf("%w: the source is of version %s, not %s", store.ErrConflict, info.Version, from)
		}
		made = store.Written{Source: info.Version, Size: info.Size, Moved: info.Size}
		if scope = cmp.Or(s.options.EncryptionScope, scope); scope != "" {
			made.Version, err = s.rewrite(ctx, key, other, source, info, scope)
		} else {
			made.Version, err = s.copy(ctx, key, other, source, info.Version.String())
		}
		if driver.IsMissing(err) {
			err = driver.Conflict(err)
		}
		if !from.IsZero() || !driver.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return store.Written{}, err
	}
	return made, nil
}

// describe returns what the service says of a blob, and its encryption scope.
func (s *Store) describe(ctx context.Context, key store.Key) (info store.Info, scope string, err error) {
	h, err := s.do(ctx, call{method: http.MethodHead, blob: s.blob(key)})
	if err != nil {
		return info, "", err
	}
	info.Version = store.MakeVersion(h.Get("ETag"))
	info.Size, err = strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	return info, h.Get(scopeHeader), err
}

// rewrite copies a blob as Assemble does, because the service takes no encryption
// scope for a copy of a whole blob within an account: only for sources that anybody or a
// signature may read, of at most 256 MiB.
func (s *Store) rewrite(ctx context.Context, key store.Key, other *Store, source store.Key, info store.Info, scope string) (store.Version, error) {
	w := &writing{s: s, key: key, mark: rand.Text(), scope: scope}
	if s.container == other.container && s.blob(key) == other.blob(source) {
		w.cond = store.IfVersion(info.Version) // another writer may replace it meanwhile
	}
	if info.Size == 0 {
		return w.Put(ctx, nil)
	}
	return w.Assemble(ctx, other, []store.Part{{Key: source, N: info.Size, Version: info.Version}})
}

// copy copies a blob that has the ETag from. It returns the version of the copy.
func (s *Store) copy(ctx context.Context, key store.Key, other *Store, source store.Key, from string) (store.Version, error) {
	u := other.url(other.blob(source), nil)
	if g := s.transport; g.sas != nil {
		u.RawQuery = g.sas.Encode() // the source has to be signed too
	}
	c := call{method: http.MethodPut, blob: s.blob(key), header: http.Header{
		"X-Ms-Copy-Source": {u.String()}, "X-Ms-Source-If-Match": {from},
	}}
	var h http.Header
	doubt, err := driver.Attempts(s.reads.Do).Change(ctx, func(ctx context.Context) (err error) {
		h, err = s.send(ctx, c, nil)
		return err
	})
	// The source is the blob that an earlier attempt may have replaced.
	if driver.IsConflict(err) && doubt && s.container == other.container && s.blob(key) == other.blob(source) {
		err = driver.Unknown(err)
	}
	if err != nil {
		return store.Version{}, err
	}
	return s.copied(ctx, key, h)
}

// copied waits for the end of the copy that an answer began, and returns its version.
// Within an account a copy takes no time, and the answer has the ETag of the copy. A
// later question could get that of another writer's value.
func (s *Store) copied(ctx context.Context, key store.Key, h http.Header) (store.Version, error) {
	id := h.Get("X-Ms-Copy-Id")
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		switch h.Get("X-Ms-Copy-Status") {
		case "pending":
		case "", "success":
			return store.MakeVersion(h.Get("ETag")), nil
		default:
			return store.Version{}, errors.New("the service could not copy: " + driver.Printable(h.Get("X-Ms-Copy-Status-Description"), 200))
		}
		select {
		case <-ctx.Done():
			return store.Version{}, ctx.Err()
		case <-time.After(pause):
		}
		var err error
		h, err = s.do(ctx, call{method: http.MethodHead, blob: s.blob(key)})
		// Another writer has replaced or deleted the copy, whose version is not known.
		if driver.IsMissing(err) || err == nil && h.Get("X-Ms-Copy-Id") != id {
			return store.Version{}, nil
		}
		if err != nil {
			return store.Version{}, err
		}
	}
}
