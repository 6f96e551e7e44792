// Command login says of each request whether net/http routes it to /login, and which token its query has.
package main

import (
	"log"
	"net/http"
	"os"
	"strings"
)

func reached(name string) http.HandlerFunc {
	return func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("X-Reached", name)
		answer.Header().Set("X-Read-Token", request.URL.Query().Get("token"))
		answer.Header().Set("X-Read-Key", request.Header.Get("X-Api-Key"))
	}
}

// Without a ServeMux, a program that looks at the path itself has its dots.
func unresolved(answer http.ResponseWriter, request *http.Request) {
	name := "other"
	if request.URL.Path == "/login" || strings.HasPrefix(request.URL.Path, "/login/") {
		name = "login"
	}
	reached(name)(answer, request)
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/login", reached("login"))
	mux.HandleFunc("/login/", reached("login"))
	mux.HandleFunc("/", reached("other"))
	go func() { log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], http.HandlerFunc(unresolved))) }()
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], mux))
}
