// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/store"
)

// remove deletes one object. A missing object is no error.
func (s *Store) remove(ctx context.Context, name string) error {
	_, err := s.repeat(ctx, request{call: call{"DeleteObject", name}, method: http.MethodDelete}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// deleteIf deletes an object of a version. It first looks at the object: some
// services answer the deletion of a missing object with success, and in a bucket with
// versioning the version ID tells versions apart that have equal bytes. The service then
// checks the ETag and deletes in one step. A repetition could delete what another writer
// has stored meanwhile with the same bytes, so there is none.
func (s *Store) deleteIf(ctx context.Context, name string, c store.Change) error {
	v := c.If.Version()
	tag, _ := cut(v)
	if tag == "" {
		return fmt.Errorf("s3: %w: no value has the zero version", store.ErrConflict)
	}
	if err := s.needs(ctx, deletionsOnConditions); err != nil {
		return err
	}
	if _, err := s.source(c.Key, v).look(ctx); err != nil {
		return err
	}
	d := &writing{s: s, call: call{"DeleteObject", name}, cond: condition{match: tag, single: true}}
	_, err := d.run(ctx, func(ctx context.Context) (store.Version, error) {
		_, err := s.send(ctx, request{call: d.call, method: http.MethodDelete, header: d.cond.header(http.Header{})}, nil)
		return store.Version{}, err
	})
	return err
}

// deletedAtOnce is the number of objects that one request deletes.
const deletedAtOnce = 1000

// removeAll deletes objects, many with each request.
func (s *Store) removeAll(ctx context.Context, names []string) error {
	for chunk := range slices.Chunk(names, deletedAtOnce) {
		if err := s.removeSome(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// removeSome deletes at most [deletedAtOnce] objects. The request for many is XML, which
// holds no control characters: it would name another object.
func (s *Store) removeSome(ctx context.Context, names []string) error {
	if len(names) == 1 || s.noBatches.Load() || slices.ContainsFunc(names, hasControl) {
		return each(ctx, len(names), readsAtOnce, func(ctx context.Context, i int) error { return s.remove(ctx, names[i]) })
	}
	type named struct{ Key string }
	in := struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ Delete"`
		Objects []named  `xml:"Object"`
		Quiet   bool
	}{Quiet: true}
	for _, name := range names {
		in.Objects = append(in.Objects, named{name})
	}
	q := request{
		call: call{"DeleteObjects", path.Dir(names[0])}, method: http.MethodPost, onBucket: true,
		query: values("delete", ""), header: http.Header{}, data: encode(in),
	}
	// A sum is required. Old services know only the first, directory buckets the second.
	if s.options.Endpoint != "" {
		q.header.Set("Content-MD5", q.data.digest())
	} else {
		q.header.Set("X-Amz-Checksum-Crc32", q.data.checksum())
	}
	var out struct {
		XMLName xml.Name                     `xml:"DeleteResult"`
		Errors  []struct{ Key, Code string } `xml:"Error"`
	}
	_, err := s.repeat(ctx, q, &out)
	failed := out.Errors
	if f := (*failure)(nil); errors.As(err, &f) && f.noBatch() {
		s.noBatches.Store(true)
		return s.removeSome(ctx, names)
	}
	if err != nil {
		return err
	}
	// The answer is a success even if it did not delete some. Try those alone: the error
	// may pass, and if it does not, the answer says more.
	return each(ctx, len(failed), readsAtOnce, func(ctx context.Context, i int) error {
		if failed[i].Code == "NoSuchKey" {
			return nil
		}
		return s.remove(ctx, failed[i].Key)
	})
}

// DeleteTree implements [store.TreeDeleter], with one request for 1,000 objects. It
// deletes nothing if there are names that are no keys.
func (s *Store) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, _ store.Durability) error {
	// At every depth, delete what makes other values visible before those values. The
	// first listing finds these, and shows that all names can be deleted.
	var first []string
	for e, err := range store.List(ctx, s, dir, store.Deep) {
		if err != nil {
			return err
		}
		if slices.Contains(order.First, path.Base(e.Name)) && e.Name != order.Last {
			first = append(first, s.below(dir)+e.Name)
		}
	}
	for _, name := range order.First {
		if err := s.removeIn(ctx, dir, name); err != nil {
			return err
		}
	}
	if err := s.removeAll(ctx, first); err != nil {
		return err
	}
	if err := s.removeListed(ctx, dir, order.Last); err != nil {
		return err
	}
	if order.Last == "" {
		return nil
	}
	return s.removeIn(ctx, dir, order.Last)
}

// below returns the prefix of the names of objects below a directory.
func (s *Store) below(dir store.Path) string {
	return s.prefix + strings.TrimPrefix(dir.String()+"/", "/")
}

// removeIn deletes one object of a directory.
func (s *Store) removeIn(ctx context.Context, dir store.Path, name string) error {
	key, err := dir.Key(name)
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, store.Delete(key), store.Sync)
	return err
}

// removeListed deletes the objects below dir but for one.
func (s *Store) removeListed(ctx context.Context, dir store.Path, but string) error {
	var names []string
	for e, err := range store.List(ctx, s, dir, store.Deep) {
		if err != nil {
			return err
		}
		if e.Name == but {
			continue
		}
		if names = append(names, s.below(dir)+e.Name); len(names) == deletedAtOnce {
			if err := s.removeSome(ctx, names); err != nil {
				return err
			}
			names = names[:0]
		}
	}
	return s.removeAll(ctx, names)
}

// hasControl reports whether a name has a character that XML does not hold.
func hasControl(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0xfffe && r <= 0xffff })
}

var (
	_ store.TreeDeleter = (*Store)(nil)
)

// SweepUploads implements [store.UploadSweeper]. It aborts uploads of keys below the
// prefix. A store without a prefix is a whole bucket, where other programs upload too:
// there it aborts none, and a rule of the bucket for incomplete uploads does.
func (s *Store) SweepUploads(ctx context.Context, age time.Duration, dryRun bool) (n int, err error) {
	if s.prefix == "" {
		return 0, nil
	}
	err = s.eachUpload(ctx, s.prefix, func(u listedUpload) error {
		begun := timeOf(u.Initiated)
		if begun.IsZero() || time.Since(begun) < age || !strings.HasPrefix(u.Key, s.prefix) {
			return nil
		}
		if !dryRun {
			if err := s.abort(ctx, u.Key, u.UploadID); err != nil {
				return err
			}
		}
		n++
		return nil
	})
	return n, err
}

var _ store.UploadSweeper = (*Store)(nil)
