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

// A draft is an upload in parts whose completion makes the object visible. An upload can
// be completed once, and not after it was aborted. So a completion that arrives late, or
// twice, changes nothing once another writer has revoked the draft, whatever ETag the
// object has by then. Nobody knows the drafts of others, so a writer aborts all uploads
// of the key.

// draft is an upload whose parts are sent.
type draft struct {
	u     *upload
	value []byte
}

// Draft implements [store.Drafter].
func (s *Store) Draft(ctx context.Context, key store.Key, value []byte, _ store.Durability) (store.Draft, error) {
	name, err := s.key(key)
	if err == nil {
		err = s.needs(ctx, revocationsOfUploads)
	}
	if err != nil {
		return nil, err
	}
	u, err := s.newDraft(ctx, name, value)
	if err != nil {
		return nil, err
	}
	return draft{u, value}, nil
}

func (s *Store) newDraft(ctx context.Context, name string, value []byte) (*upload, error) {
	parts := segments{{data: pieces{value}}}.parts(defaultCuts(s), true)
	if len(parts) == 0 { // an upload needs one
		parts = []part{{segments: segments{{data: pieces{value}}}}}
	}
	u, err := s.newUpload(ctx, name, parts, nil)
	return u, revocation(err)
}

// Publish implements [store.Draft].
func (d draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	c, err := conditionOf(cond)
	if err != nil {
		return store.Version{}, err
	}
	v, err := d.u.complete(ctx, c)
	// A draft of the same bytes keeps the ETag. Write once more, as [Store.put] does, or
	// a rival could take the new chunk for the old one and delete it.
	if err == nil && c.same(v) {
		once := condition{match: c.match, single: true}
		if data := (pieces{d.value}); data.size() <= singleParts*d.u.s.options.PartSize {
			v, err = d.u.s.putWhole(ctx, d.u.name, data, once)
		} else {
			v, err = d.u.s.uploadOnce(ctx, d.u.name, segments{{data: data}}, defaultCuts(d.u.s).other(), once, nil)
		}
	}
	return v, revocation(err)
}

// Discard implements [store.Draft].
func (d draft) Discard(ctx context.Context) { d.u.abort(ctx) }

// Revoke implements [store.Drafter].
func (s *Store) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	name, err := s.key(key)
	if err != nil {
		return err
	}
	kept := ""
	if d, ok := keep.(draft); ok {
		kept = d.u.id
	}
	if err = s.revoke(ctx, name, kept); errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; concurrent writers are safe only with the permissions s3:ListBucketMultipartUploads and s3:AbortMultipartUpload: grant them, or declare this the only writer (SingleWriter)", err)
	}
	return err
}

// revoke aborts all uploads of an object but one.
func (s *Store) revoke(ctx context.Context, name, kept string) error {
	return s.eachUpload(ctx, name, func(u listedUpload) error {
		if u.Key != name || u.UploadID == kept {
			return nil
		}
		err := s.abort(ctx, name, u.UploadID)
		if f := (*failure)(nil); errors.As(err, &f) && f.code == "NoSuchUpload" {
			return nil // it was aborted or completed meanwhile
		}
		return err
	})
}

// listedUpload is an upload in a listing.
type listedUpload struct {
	Key       string
	UploadID  string `xml:"UploadId"`
	Initiated string
}

// eachUpload calls do for the uploads of objects whose names have a prefix. A service may
// ignore the prefix.
func (s *Store) eachUpload(ctx context.Context, prefix string, do func(listedUpload) error) error {
	c := call{"ListMultipartUploads", prefix}
	for lastKey, lastID := "", ""; ; {
		var page struct {
			XMLName            xml.Name       `xml:"ListMultipartUploadsResult"`
			Uploads            []listedUpload `xml:"Upload"`
			IsTruncated        bool
			NextKeyMarker      string
			NextUploadIDMarker string `xml:"NextUploadIdMarker"`
		}
		query := values("uploads", "", "prefix", prefix, "key-marker", lastKey, "upload-id-marker", lastID)
		if _, err := s.repeat(ctx, request{call: c, method: http.MethodGet, onBucket: true, query: query}, &page); err != nil {
			return err
		}
		for _, u := range page.Uploads {
			if err := do(u); err != nil {
				return err
			}
		}
		if !page.IsTruncated {
			return nil
		}
		key, id := page.NextKeyMarker, page.NextUploadIDMarker
		if key == "" || key == lastKey && id == lastID {
			// The draft of a rival may be among the rest.
			return fmt.Errorf("%s: %w: the service says that there are more uploads, and not how to list them", s.name(c), store.ErrUnsupported)
		}
		lastKey, lastID = key, id
	}
}

var _ store.Drafter = (*Store)(nil)
