// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// credentialError is the error of a request that is not sent, because there are no
// credentials for it.
type credentialError struct{ err error }

func (c *credentialError) Error() string { return c.err.Error() }
func (c *credentialError) Unwrap() error { return c.err }

// waysToCredentials says how to give credentials.
const waysToCredentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile (AWS_PROFILE or the option profile)," +
	" sign in (aws sso login), run on a machine or in a container that has a role, or give the options access_key_id and" +
	" secret_access_key; a public bucket needs none: give the option anon=true"

// noCredentials is the error of a search that has found no credentials.
func noCredentials(cause error) error {
	return &credentialError{errors.New("no credentials were found (" + bare(cause).Error() + "); " + waysToCredentials)}
}

// bare returns an error of the SDK as text, without the words of the SDK around its
// cause. Nothing in it may be taken for an answer of the bucket, so it wraps nothing.
func bare(err error) error {
	text := err.Error()
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		text = operation.ServiceID + ": " + inner(operation.Err)
		if operation.ServiceID == metadataService {
			text = "the last source, the metadata service of the machine (IMDS), has none: " + inner(operation.Err)
		}
	}
	return errors.New(strings.TrimPrefix(text, "failed to refresh cached credentials, "))
}

// metadataService is the SDK's name of the metadata service of machines.
const metadataService = "ec2imds"

// inner returns the text of the cause of a failed operation of the SDK.
func inner(err error) string {
	var answer *smithyhttp.ResponseError
	var api smithy.APIError
	var sending *smithyhttp.RequestSendError
	var call *url.Error
	var canceled *smithy.CanceledError
	switch {
	case errors.As(err, &api):
		return api.ErrorCode() + ": " + printable(api.ErrorMessage())
	case errors.As(err, &answer) && answer.HTTPStatusCode() != 0:
		return "status " + strconv.Itoa(answer.HTTPStatusCode())
	case errors.As(err, &canceled), errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time"
	case errors.As(err, &sending) && errors.As(sending.Err, &call):
		return call.Err.Error()
	case errors.As(err, &sending):
		return sending.Err.Error()
	}
	return err.Error()
}
