// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/snapshot"
)

// Request describes a rechunk. Its target is computed anew for every state of the array,
// because the array may grow before the result is published.
type Request interface {
	// operation is the name of the command.
	operation() string
	// target returns the grid and the codecs that the array gets, or nil if it has
	// them already.
	target(s *snapshot.Array) (*target, error)
}

// jointRequest is the request for one of several arrays that are rechunked in one
// transaction. Its fingerprint tells of all of them: a process with another list must not
// resume it.
type jointRequest struct {
	Request
	all []member
}

// member is one array of a transaction.
type member struct {
	Path      string  `json:"path"`
	Operation string  `json:"operation"`
	Request   Request `json:"request"`
}

// MarshalJSON implements [json.Marshaler].
func (t jointRequest) MarshalJSON() ([]byte, error) { return json.Marshal(t.all) }

// singleRequest returns the request for an array, without those for the others.
func singleRequest(r Request) Request {
	if t, ok := r.(jointRequest); ok {
		return t.Request
	}
	return r
}

// operationOf returns the name of the operation of a request, for errors.
func operationOf(r Request) string {
	if r == nil {
		return Rechunking{}.operation()
	}
	return r.operation()
}

// errNoRequest is the error for a request that is nil.
var errNoRequest = fmt.Errorf("%w: the request is nil: give a Compaction, Regularization, Rechunking, Removal or Insertion", zarr.ErrInvalidArgument)

// ParseRequest returns the request of an operation, such as "rechunk", from its JSON, so
// that other processes can execute it; see docs/jobs.md. Package json encodes requests.
// Unknown members are an error. The JSON of an [Insertion] does not contain the new
// elements: set From before executing the request.
func ParseRequest(operation string, raw []byte) (Request, error) {
	switch operation {
	case "compact":
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
			return parseAs[Compactions](raw)
		}
		return parseAs[Compaction](raw)
	case "regularize":
		return parseAs[Regularization](raw)
	case "rechunk":
		return parseAs[Rechunking](raw)
	case "drop":
		return parseAs[Removal](raw, "axis", "range")
	case "insert":
		return parseAs[Insertion](raw, "axis", "at", "identity")
	}
	return nil, fmt.Errorf("%w: the operation %.40q is not known", zarr.ErrInvalidArgument, operation)
}

// parseAs parses a request, which must have some members.
func parseAs[R Request](raw []byte, needed ...string) (Request, error) {
	var r R
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
		return nil, fmt.Errorf("%w: there is no request", zarr.ErrInvalidArgument)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: the request: %w", zarr.ErrInvalidArgument, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more follows the request", zarr.ErrInvalidArgument)
	}
	if needed == nil {
		return r, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("%w: the request: %w", zarr.ErrInvalidArgument, err)
	}
	for _, name := range needed {
		if v := members[name]; v == nil || string(v) == "null" {
			return nil, fmt.Errorf("%w: the request has no member %q", zarr.ErrInvalidArgument, name)
		}
	}
	return r, nil
}
