// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"net/http"
	"strings"
	"sync/atomic"

	"varve.dev/zarr/store"
)

// versionHeader has the version ID of an object, in buckets with versioning.
const versionHeader = "X-Amz-Version-Id"

// noID is the version ID of objects that were written before versioning was switched on,
// or while it is suspended.
const noID = "null"

// versionOf returns the text of a version from the headers of an answer.
func versionOf(h http.Header) string { return join(h.Get("ETag"), h.Get(versionHeader)) }

// join returns the text of a version: the quoted ETag and, unless it is empty or null,
// '@' and the version ID.
func join(tag, id string) string {
	if tag == "" {
		return ""
	}
	// Some services leave out the quotes in some answers.
	tag = `"` + strings.Trim(tag, `"`) + `"`
	if id == "" || id == noID {
		return tag
	}
	return tag + "@" + id
}

// makeVersion returns the version with an ETag and a version ID.
func makeVersion(tag, id *string) store.Version {
	return store.MakeVersion(join(value(tag), value(id)))
}

// value returns what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// cut returns the ETag and the version ID of a version.
func cut(v store.Version) (tag, id string) {
	text := v.String()
	end := strings.LastIndexByte(text, '"') + 1
	return text[:end], strings.TrimPrefix(text[end:], "@")
}

// pin makes a request one for a version.
func pin(r *http.Request, version string) {
	tag, _ := cut(store.MakeVersion(version))
	r.Header.Set("If-Match", tag)
}

// versioned is what is known about the versioning of a bucket.
type versioned struct{ state atomic.Int32 }

const (
	versioningUnknown = iota
	versioningOff
	versioningOn
)

// learn takes what an answer about an object says.
func (v *versioned) learn(r *http.Response) {
	switch {
	case r.Header.Get(versionHeader) != "":
		v.state.Store(versioningOn)
	case r.StatusCode >= 200 && r.StatusCode < 300 && r.Header.Get("ETag") != "":
		v.state.CompareAndSwap(versioningUnknown, versioningOff)
	}
}

func (v *versioned) get() int32 { return v.state.Load() }
