// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"net/netip"
	"net/url"
	"strings"

	"varve.dev/zarr/internal/driver"
)

// place is where a bucket is: the region of its signatures, and the URL of its objects.
type place struct {
	region string
	base   *url.URL // without a slash at the end
}

// directorySuffix ends the names of directory buckets, as in "name--usw2-az1--x-s3".
const directorySuffix = "--x-s3"

// suffixes are the domains of Amazon's partitions by the beginnings of their regions. All
// other regions are in amazonaws.com.
var suffixes = []struct{ region, domain string }{
	{"cn-", "amazonaws.com.cn"}, {"eusc-", "amazonaws.eu"}, {"us-iso-", "c2s.ic.gov"}, {"us-isob-", "sc2s.sgov.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"}, {"us-isof-", "csp.hci.ic.gov"},
}

// resolve returns the place of the bucket if it is in a region.
//
// These are the rules of the SDK's client for what [Options] can ask for. The client's
// own also know FIPS, dual stacks and Outposts, and are half a megabyte of a program.
func (v *service) resolve(region string) (*place, error) {
	bucket, service, byPath := v.bucket, "s3", v.byPath()
	switch part := strings.Split(bucket, "--"); {
	case strings.HasPrefix(bucket, "arn:"):
		name, of, err := accessPoint(bucket)
		if err != nil {
			return nil, err
		}
		bucket, region, service, byPath = name, of, "s3-accesspoint", false
	case strings.HasSuffix(bucket, directorySuffix):
		service, byPath = "s3express-"+part[len(part)-2], false
	}
	base := &url.URL{Scheme: "https"}
	if v.options.Endpoint != "" {
		var err error
		if base, err = url.Parse(v.options.Endpoint); err != nil || base.RawQuery != "" || base.Fragment != "" {
			return nil, driver.BadLocation("s3: the endpoint is not a URL like https://host:port")
		}
	} else {
		var err error
		if base.Host, region, err = hostOf(service, region); err != nil {
			return nil, err
		}
	}
	_, notIP := netip.ParseAddr(base.Hostname())
	path := strings.TrimSuffix(base.EscapedPath(), "/")
	if byPath || notIP == nil || !isHostLabel(bucket) {
		path += "/" + url.PathEscape(bucket)
	} else {
		base.Host = bucket + "." + base.Host
	}
	base.RawPath = path
	base.Path, _ = url.PathUnescape(path)
	return &place{region: region, base: base}, nil
}

// hostOf returns the host of Amazon's service in a region, and the region of signatures.
func hostOf(service, region string) (host, signing string, err error) {
	if region == "aws-global" {
		return service + ".amazonaws.com", defaultRegion, nil
	}
	if !isHostLabel(region) {
		return "", "", driver.BadLocation("s3: %q is no name of a region; set the option region, AWS_REGION or the profile's region, as in us-east-1", region)
	}
	domain := "amazonaws.com"
	for _, s := range suffixes {
		if strings.HasPrefix(region, s.region) {
			domain = s.domain
		}
	}
	return service + "." + region + "." + domain, region, nil
}

// accessPoint returns the label and the region of an access point's ARN,
// "arn:aws:s3:region:account:accesspoint:name".
func accessPoint(arn string) (label, region string, err error) {
	part := strings.Split(arn, ":")
	if len(part) != 7 || part[2] != "s3" || part[3] == "" || part[5] != "accesspoint" || !isHostLabel(part[6]+"-"+part[4]) {
		return "", "", driver.BadLocation("s3: %q is no ARN of an access point in a region, arn:aws:s3:REGION:ACCOUNT:accesspoint:NAME; for other kinds name the bucket or the alias of the access point", arn)
	}
	return part[6] + "-" + part[4], part[3], nil
}

// isHostLabel reports whether a name can be a label of a host: a bucket's, which has at
// least three characters, or a region's.
func isHostLabel(name string) bool {
	last := len(name) - 1
	for i, c := range []byte(name) {
		inner := i > 0 && i < last
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || !inner) {
			return false
		}
	}
	return 3 <= len(name) && len(name) <= 63
}
