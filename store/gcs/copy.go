// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

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
	d, err := s.copy(ctx, c.Key, other, c.Source)
	if err != nil {
		return made, s.fail("copy "+other.name(c.Source)+" to this object", c.Key, err)
	}
	return store.Written{Version: store.MakeVersion(d.Generation), Size: d.Size}, nil
}

// copy copies an object of any generation. The copy has the key of the options, or else
// that of its source: the service would take the default of the bucket.
func (s *Store) copy(ctx context.Context, key store.Key, other *Store, source store.Key) (description, error) {
	if kms := s.options.KMSKey; kms != "" {
		return s.rewrite(ctx, key, other, source, "", kms)
	}
	// What is known of the source costs no request, but a rival may have replaced it. A
	// source that is its own copy would do so too.
	onItself := other.bucket == s.bucket && other.object(source) == s.object(key)
	if known, ok := other.seen.find(other.object(source)); ok && !onItself {
		d, err := s.rewrite(ctx, key, other, source, known.Generation, known.key())
		if !driver.IsConflict(err) && !driver.IsMissing(err) {
			return d, err
		}
	}
	now, err := other.look(ctx, source)
	if err != nil {
		return now, err
	}
	return s.rewrite(ctx, key, other, source, "", now.key())
}

// clone copies an object on the condition that it is of its version.
func (s *Store) clone(ctx context.Context, c store.Change) (store.Written, error) {
	key, source, from := c.Key, c.Source, c.SourceVersion
	if err := s.mayWrite(key); err != nil {
		return store.Written{}, err
	}
	g, ok := generation(from)
	if !ok && !from.IsZero() {
		return store.Written{}, s.fail("clone", source, driver.NoVersion(from, noun))
	}
	var d description
	var err error
	// A rival may replace the source between the request that looks at it and the copy.
	for range cloneTries {
		kms := s.options.KMSKey
		if known, ok := s.seen.find(s.object(source)); ok && !from.IsZero() && known.Generation == g {
			kms = cmp.Or(kms, known.key())
		} else if from.IsZero() || kms == "" {
			// The caller is told of which version the clone is.
			var now description
			if now, err = s.look(ctx, source); err != nil && from.IsZero() {
				break
			}
			if from.IsZero() {
				g = now.Generation
			}
			kms = cmp.Or(kms, now.key())
		}
		if err == nil {
			d, err = s.rewrite(ctx, key, s, source, g, kms)
		}
		if driver.IsMissing(err) {
			err = driver.Conflict(err)
		}
		if !from.IsZero() || !driver.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return store.Written{}, s.fail("clone "+s.object(source)+" to this object", key, err)
	}
	made := store.Written{Version: store.MakeVersion(d.Generation), Source: store.MakeVersion(g), Size: d.Size, Moved: d.Size}
	if key == source {
		made.Source = made.Version
	}
	return made, nil
}

// cloneTries is the number of attempts to clone a source that others replace.
const cloneTries = 5

// sees reports whether the credentials of this store are those that other reads with.
func (s *Store) sees(other *Store) bool {
	if s.endpoint.String() != other.endpoint.String() {
		return false
	}
	a, b := s.options, other.options
	// Sources of tokens cannot be compared.
	known := a.Credentials == nil && b.Credentials == nil && a.CredentialsFile == b.CredentialsFile && a.Anonymous == b.Anonymous
	return s == other || known || s.transport == other.transport || s.bucket == other.bucket
}

// rewrite copies an object, which must be of generation from unless that is "". The copy
// is encrypted with a key, or as is the default if that is "".
func (s *Store) rewrite(ctx context.Context, key store.Key, other *Store, source store.Key, from, kms string) (description, error) {
	q := url.Values{"fields": {"done,rewriteToken,totalBytesRewritten,resource(" + described + ")"}}
	if from != "" {
		q.Set("ifSourceGenerationMatch", from)
	}
	if kms != "" {
		q.Set("destinationKmsKeyName", kms)
	}
	c := call{
		method: http.MethodPost, query: q,
		path: other.objectPath(other.object(source)) + "/rewriteTo/b/" + s.bucket + "/o/" + escape(s.object(key)),
	}
	if class := s.options.StorageClass; class != "" {
		c.header = http.Header{"Content-Type": {"application/json"}}
		c.body = [][]byte{encode(map[string]string{"storageClass": class})}
	}
	onItself := other.bucket == s.bucket && other.object(source) == s.object(key)
	copied := json.Number("")
	for {
		var answer struct {
			Done     bool        `json:"done"`
			Token    string      `json:"rewriteToken"`
			Copied   json.Number `json:"totalBytesRewritten"`
			Resource description `json:"resource"`
		}
		doubt, err := driver.Attempts(s.reads.Do).Change(ctx, func(ctx context.Context) error { return s.send(ctx, c, &answer) })
		switch {
		// The source is the object that an earlier attempt may have replaced.
		case driver.IsConflict(err) && doubt && onItself:
			return description{}, driver.Unknown(err)
		case err != nil || answer.Done:
			return answer.Resource, err
		// Without progress the loop would not end.
		case answer.Token == "" || answer.Token == q.Get("rewriteToken") && answer.Copied == copied:
			return description{}, errors.New("the service neither ends the copy nor continues it")
		}
		// A copy to another place takes several requests.
		copied = answer.Copied
		q.Set("rewriteToken", answer.Token)
	}
}
