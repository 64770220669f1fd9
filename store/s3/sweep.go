// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"varve.dev/zarr/store"
)

// SweepUploads implements [store.UploadSweeper]. It aborts uploads of keys below the
// prefix. A store without a prefix is a whole bucket, where other programs upload too:
// there it aborts none, and a rule of the bucket for incomplete uploads does.
func (s *Store) SweepUploads(ctx context.Context, age time.Duration, dryRun bool) (n int, err error) {
	if s.prefix == "" {
		return 0, nil
	}
	err = s.eachUpload(ctx, s.prefix, func(u types.MultipartUpload) error {
		if u.Initiated == nil || time.Since(*u.Initiated) < age || !strings.HasPrefix(value(u.Key), s.prefix) {
			return nil
		}
		if !dryRun {
			if err := s.abort(ctx, value(u.Key), u.UploadId); err != nil {
				return err
			}
		}
		n++
		return nil
	})
	return n, err
}

var _ store.UploadSweeper = (*Store)(nil)
