// The echo with Go's gRPC over HTTP/2 and protobuf. A StringValue has the same wire format as the messages of the echo.
//
// usage: go-grpc serve                          prints its port and serves until it is stopped
//
//	go-grpc load PORT IN_FLIGHT CALLS SIZE        prints the calls per second
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes/wrappers"
	"google.golang.org/grpc"
)

const service, method = "campanile.benchmarks.v1.EchoService", "Echo"

func echo(_ interface{}, ctx context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
	request := new(wrappers.StringValue)
	if err := decode(request); err != nil {
		return nil, err
	}
	return &wrappers.StringValue{Value: request.Value}, nil
}

func serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*interface{})(nil),
		Methods: []grpc.MethodDesc{{MethodName: method, Handler: echo}},
	}, struct{}{})
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	return server.Serve(listener)
}

func run(connection *grpc.ClientConn, calls int, payload string) error {
	for i := 0; i < calls; i++ {
		response := new(wrappers.StringValue)
		err := connection.Invoke(context.Background(), "/"+service+"/"+method, &wrappers.StringValue{Value: payload}, response)
		if err != nil {
			return err
		}
		if len(response.Value) != len(payload) {
			return fmt.Errorf("unexpected payload in a response")
		}
	}
	return nil
}

func load(port, inFlight, calls, size int) error {
	connection, err := grpc.Dial(fmt.Sprintf("127.0.0.1:%d", port), grpc.WithInsecure(), grpc.WithBlock())
	if err != nil {
		return err
	}
	payload := strings.Repeat("x", size)
	if err := run(connection, 500, payload); err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, inFlight)
	start := time.Now()
	for i := 0; i < inFlight; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			failures[i] = run(connection, calls/inFlight, payload)
		}(i)
	}
	group.Wait()
	seconds := time.Since(start).Seconds()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	fmt.Println(float64(calls/inFlight*inFlight) / seconds)
	return nil
}

func main() {
	port, inFlight, calls, size := 0, 0, 0, 0
	arguments := strings.Join(os.Args[1:], " ")
	err := fmt.Errorf("usage: go-grpc serve | load PORT IN_FLIGHT CALLS SIZE")
	if arguments == "serve" {
		err = serve()
	} else if n, _ := fmt.Sscanf(arguments, "load %d %d %d %d", &port, &inFlight, &calls, &size); n == 4 && inFlight > 0 {
		err = load(port, inFlight, calls, size)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
