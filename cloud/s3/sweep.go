// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/store"
)

// SweepUploads implements [store.UploadSweeper]. It aborts uploads of keys below the
// prefix. A store without a prefix is a whole bucket, where other programs upload too:
// there it aborts none, and a rule of the bucket for incomplete uploads does.
func (s *Store) SweepUploads(ctx context.Context, age time.Duration, dryRun bool) (n int, err error) {
	if s.prefix == "" {
		return 0, nil
	}
	in := s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: text(s.prefix), RequestPayer: s.payer()}
	for {
		var page *s3.ListMultipartUploadsOutput
		err := s.do(ctx, call{"ListMultipartUploads", s.prefix}, func(ctx context.Context, o with) (err error) {
			request := in
			page, err = s.client.ListMultipartUploads(ctx, &request, o)
			return err
		})
		if err != nil {
			return n, err
		}
		for _, u := range page.Uploads {
			// A service may ignore the prefix of the question.
			if u.Initiated == nil || time.Since(*u.Initiated) < age || !strings.HasPrefix(value(u.Key), s.prefix) {
				continue
			}
			if !dryRun {
				if err := s.abort(ctx, value(u.Key), u.UploadId); err != nil {
					return n, err
				}
			}
			n++
		}
		key, id := value(page.NextKeyMarker), value(page.NextUploadIdMarker)
		if !value(page.IsTruncated) || key == "" || key == value(in.KeyMarker) && id == value(in.UploadIdMarker) {
			return n, nil
		}
		in.KeyMarker, in.UploadIdMarker = &key, text(id)
	}
}

var _ store.UploadSweeper = (*Store)(nil)
