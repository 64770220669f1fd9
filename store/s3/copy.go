// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"varve.dev/zarr/store"
)

// copyFrom copies the source of a change.
func (s *Store) copyFrom(ctx context.Context, name string, c store.Change) (made store.Written, err error) {
	other, ok := store.Driver(c.From).(*Store)
	if !ok || !s.alike(other) {
		return made, fmt.Errorf("s3: %w: the service can only copy its own objects", store.ErrUnsupported)
	}
	switch may, err := s.mayCopy(ctx); {
	case err != nil:
		return made, err
	case !may:
		c.From = basic{other}
		return store.Write(ctx, basic{s}, c, store.Sync)
	}
	// A rival may replace the source between the request that looks at it and the copy.
	for range copyTries {
		x := other.source(c.Source, store.Version{})
		if made.Version, err = s.copy(ctx, name, x); err == nil {
			made.Size = x.head.size
			return made, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	// Another bucket may refuse these credentials, or the service its kind of copy. Then
	// the caller reads and writes.
	if s.bucket != other.bucket && errors.Is(err, fs.ErrPermission) || errors.Is(err, errNoCopies) {
		err = fmt.Errorf("%w: %w", store.ErrUnsupported, err)
	}
	return store.Written{}, err
}

// copyTries is the number of attempts to copy a source that others replace.
const copyTries = 5

// alike reports whether requests of s may name objects of the other store.
func (s *Store) alike(other *Store) bool {
	a, b := &s.options, &other.options
	if s.service == other.service {
		return true
	}
	return a.Endpoint == b.Endpoint && a.Profile == b.Profile && a.Credentials == nil && b.Credentials == nil && !a.Anonymous && !b.Anonymous
}

// copy lets the service copy a source to the object with a name.
func (s *Store) copy(ctx context.Context, name string, x *source) (v store.Version, err error) {
	from, match, err := x.copySource(ctx)
	if err != nil {
		return store.Version{}, err
	}
	if n := x.head.size; n > mostCopy {
		return s.upload(ctx, name, segments{{source: x, n: n}}, condition{}, x.head)
	}
	answer, tag, err := s.copyObject(ctx, name, set(s.newObject("", x.head), copyHeader, from, copyMatchHeader, match))
	if err != nil {
		return store.Version{}, x.copyFailure(err)
	}
	id := answer.Header.Get(versionHeader)
	s.versioned.written(id)
	return makeVersion(tag, id), nil
}

// copyObject lets the service copy an object, and returns the ETag of the copy.
func (s *Store) copyObject(ctx context.Context, name string, header http.Header) (answer *http.Response, tag string, err error) {
	var made struct {
		XMLName xml.Name `xml:"CopyObjectResult"`
		ETag    string
	}
	q := request{call: call{"CopyObject", name}, method: http.MethodPut, header: header}
	answer, err = s.repeat(ctx, q, &made)
	return answer, made.ETag, err
}

// clone copies an object from one version.
func (s *Store) clone(ctx context.Context, name string, c store.Change) (store.Written, error) {
	key, src, from := c.Key, c.Source, c.SourceVersion
	switch may, err := s.mayCopy(ctx); {
	case err != nil:
		return store.Written{}, err
	case !may && key != src:
		return store.Write(ctx, basic{s}, c, store.Sync)
	}
	var err error
	for range copyTries {
		x := s.source(src, from)
		var v store.Version
		if key == src {
			// The service refuses to copy an object to itself.
			_, err = x.look(ctx)
			v = x.want
		} else {
			v, err = s.copy(ctx, name, x)
		}
		if err == nil {
			made := store.Written{Version: v, Source: x.want, Size: x.head.size}
			if key != src {
				made.Moved = made.Size
			}
			return made, nil
		}
		if !from.IsZero() || !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return store.Written{}, err
}

// basic is a store without copies by the service, so that package store reads and writes.
type basic struct{ s *Store }

func (b basic) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return b.s.Get(ctx, key, q, dst)
}

func (b basic) Can(op store.Op) bool { return op == store.OpPut }

func (b basic) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	return b.s.Write(ctx, c, d)
}
