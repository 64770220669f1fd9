// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/store"
)

// place is where a bucket is: its region, and the URL of its objects.
type place struct {
	region string
	base   *url.URL // without a slash at the end
}

// defaultRegion is the region of services that have none, and the first guess.
const defaultRegion = "us-east-1"

// regions remembers the regions of Amazon's buckets that answers named.
var regions sync.Map

// regionOf returns the region to begin with.
func regionOf(bucket, region string) string {
	if known, ok := regions.Load(bucket); ok && region == "" {
		return known.(string)
	}
	if region == "" {
		return defaultRegion
	}
	return region
}

// resolve returns the place of the bucket if it is in a region.
func (v *service) resolve(ctx context.Context, region string) (*place, error) {
	p := s3.EndpointParameters{
		Bucket: &v.bucket, Region: &region, ForcePathStyle: aws.Bool(v.byPath()), DisableS3ExpressSessionAuth: aws.Bool(true),
	}
	if v.options.Endpoint != "" {
		p.Endpoint = &v.options.Endpoint
	}
	e, err := s3.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, p.WithDefaults())
	if err != nil {
		return nil, fmt.Errorf("s3: %w: bucket %q: %w", store.ErrInvalidKey, v.bucket, err)
	}
	base := e.URI
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.RawPath, "/")
	return &place{region: region, base: &base}, nil
}

// service returns the name of the service in signatures.
func (v *service) signingName() string {
	if strings.HasSuffix(v.bucket, "--x-s3") { // a directory bucket
		return "s3express"
	}
	return "s3"
}

// regionHeader has the region of a bucket, in answers of every status.
const regionHeader = "X-Amz-Bucket-Region"

// elsewhere returns the place of the bucket if an answer says that it is in another
// region than where, and else nil. The place is remembered.
func (v *service) elsewhere(ctx context.Context, status int, h http.Header, where *place) *place {
	region := h.Get(regionHeader)
	switch status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest:
	default:
		return nil
	}
	// Only Amazon's service has a host for each region. A host from another service
	// could lead anywhere; its region is only part of the signature.
	if region == "" || region == where.region || strings.ContainsAny(region, "/.@:?#") {
		return nil
	}
	next, err := v.resolve(ctx, region)
	if err != nil {
		return nil
	}
	if v.options.Endpoint == "" {
		regions.Store(v.bucket, region)
	}
	v.signer.move(where, next)
	return next
}
