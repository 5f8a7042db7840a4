// Asio's TLS and Beast, compiled once for the whole tree.
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
