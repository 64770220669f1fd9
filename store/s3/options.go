// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// Options configure a store. The zero Options use the SDK's configuration: environment
// variables such as AWS_REGION and AWS_ENDPOINT_URL, and shared files.
type Options struct {
	// Region is the region of the bucket. If it is empty, the SDK's configuration
	// decides. A wrong region costs one request, after which the right one is known.
	Region string
	// Endpoint is the URL of another service than Amazon's, such as
	// "http://localhost:9000".
	Endpoint string
	// Profile is a profile of the SDK's shared files.
	Profile string
	// Credentials sign requests. If it is nil, the SDK's chain finds them.
	Credentials aws.CredentialsProvider
	// Anonymous sends requests unsigned, for public buckets.
	Anonymous bool
	// RequesterPays agrees to pay for the requests.
	RequesterPays bool
	// Addressing selects how URLs name the bucket.
	Addressing Addressing
	// Conditions says whether the service honours conditions of writes.
	Conditions Conditions
	// StorageClass is the storage class of new objects, such as "INTELLIGENT_TIERING".
	// Copies keep that of their source if it is empty.
	StorageClass string
	// Encryption is the server-side encryption of new objects, "AES256" or "aws:kms".
	// Copies keep that of their source if it is empty.
	Encryption string
	// KMSKey is the ID of the key for the encryption "aws:kms".
	KMSKey string
	// Header is added to every request.
	Header http.Header
	// PartSize is the size in bytes of the parts of an upload, at least 5 MiB. Larger
	// values than four parts are uploaded in parts. 0 means 16 MiB.
	PartSize int64
	// Uploads is the largest number of parts in flight of one upload; 0 means 4.
	Uploads int
	// Read configures the requests that read. The fields Header, Transport and those that
	// identify values are set by this package.
	Read httpstore.Options
}

// Addressing is how the URL of an object names its bucket.
type Addressing int

const (
	// AutoAddressing is by host for Amazon's service, and by path for other endpoints.
	AutoAddressing Addressing = iota
	ByPath                    // https://endpoint/bucket/key
	ByHost                    // https://bucket.endpoint/key
)

// Conditions says whether a service honours conditions of writes (If-None-Match and
// If-Match).
type Conditions int

const (
	// ProbeConditions probes the bucket before the first write on a condition. Amazon's
	// service is known to honour conditions and is not probed.
	ProbeConditions Conditions = iota
	// TrustConditions assumes that the service honours conditions of all writes and
	// deletions.
	TrustConditions
	// NoConditions refuses writes on conditions, so that programs must be declared the
	// only writer.
	NoConditions
)

// Figures of uploads.
const (
	leastPart   = 5 << 20 // the service refuses smaller parts, but for the last
	mostPart    = 5 << 30 // the service takes no larger part
	mostParts   = 10_000  // of one upload
	defaultPart = 16 << 20
	defaultSent = 4 // parts in flight
	singleParts = 4 // a value of at most so many parts is uploaded by one request
)

// setDefaults replaces zero values by the defaults.
func (o *Options) setDefaults() {
	if o.PartSize <= 0 {
		o.PartSize = defaultPart
	}
	o.PartSize = min(max(o.PartSize, leastPart), mostPart)
	if o.Uploads <= 0 {
		o.Uploads = defaultSent
	}
}

type optionsKey struct{}

// WithOptions returns a context in which [OpenLocation] starts from these options. It is
// for functions that open a location and have no parameter for them.
func WithOptions(ctx context.Context, opt *Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, opt)
}

// optionsOf returns a copy of the options of [WithOptions]. Without any, reads have those
// of [httpstore.WithOptions], such as the patience of a program with servers.
func optionsOf(ctx context.Context) (opt Options) {
	if given, _ := ctx.Value(optionsKey{}).(*Options); given != nil {
		return *given
	}
	if reading := httpstore.OptionsOf(ctx); reading != nil {
		opt.Read = *reading
	}
	return opt
}

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
func makeVersion(tag, id string) store.Version {
	return store.MakeVersion(join(tag, id))
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
