// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"varve.dev/zarr"
)

// MarshalRequest returns a request as JSON, so that other processes can execute it; see
// [Stage]. [ParseRequest] reads it.
func MarshalRequest(r Request) ([]byte, error) { return json.Marshal(r) }

// ParseRequest returns the request of an operation, such as "rechunk", that
// [MarshalRequest] has encoded. Members that it does not know are an error. An
// [Insertion] has its elements no more: set From before it is executed.
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
