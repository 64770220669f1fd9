// SPDX-License-Identifier: Apache-2.0

package dryrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Counts are the counts of every plan. A count is nil, and null in JSON, if the
// command does not know it before it runs.
type Counts struct {
	Kept      *int64 `json:"chunks_kept"`
	New       *int64 `json:"chunks_new"`
	Rewritten *int64 `json:"chunks_rewritten"`
	Copied    *int64 `json:"chunks_copied"`
	Linked    int64  `json:"chunks_linked"` // by rechunking
	Dropped   *int64 `json:"chunks_dropped"`
	Documents *int64 `json:"documents_written"`

	BytesRead    *int64 `json:"bytes_read"`
	BytesCopied  *int64 `json:"bytes_copied"`
	BytesLinked  int64  `json:"bytes_linked"`
	BytesDecoded *int64 `json:"bytes_decoded"`
	BytesEncoded *int64 `json:"bytes_encoded"`
	BytesWritten *int64 `json:"bytes_written_estimate"`
	BytesDropped *int64 `json:"bytes_dropped"`

	Removed []string `json:"nodes_removed,omitempty"` // deleted by rm or --overwrite

	Requests   map[string]int64 `json:"requests"`
	PeakMemory *int64           `json:"peak_memory"` // no command estimates it
	Scratch    *int64           `json:"scratch"`
}

// Fingerprint returns a hash of a plan that does not list changes of single values. Equal
// plans have equal fingerprints.
func Fingerprint(plan any) (string, error) {
	text, err := json.Marshal(plan)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}
