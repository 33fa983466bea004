// Declares the part of the C++ standard library that weft's public headers use, for msvc.sh, in which each standard
// header is this file. Nothing is defined, because nothing is linked. If a header needs another name of the standard
// library, declare it here.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace std {

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using nullptr_t = decltype(nullptr);

template <bool condition>
struct bool_constant {
  static constexpr bool value = condition;
};
using false_type = bool_constant<false>;
using true_type = bool_constant<true>;
template <class T, class U>
constexpr bool is_same_v = false;
template <class T>
constexpr bool is_same_v<T, T> = true;
template <class T>
constexpr bool is_aggregate_v = __is_aggregate(T);
template <class T>
struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class T>
struct is_integral : bool_constant<__is_integral(T)> {};
template <class T>
struct is_signed : bool_constant<__is_signed(T)> {};
template <bool condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool condition, class T = void>
using enable_if_t = typename enable_if<condition, T>::type;
template <class T>
struct remove_pointer {
  using type = T;
};
template <class T>
struct remove_pointer<T*> {
  using type = T;
};
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class...>
using void_t = void;
template <class T>
struct remove_reference {
  using type = T;
};
template <class T>
struct remove_reference<T&> {
  using type = T;
};
template <class T>
typename remove_reference<T>::type&& move(T&& value) noexcept;

void* memcpy(void* to, const void* from, size_t count);
double fabs(double value);

template <class T>
struct numeric_limits {
  static constexpr T infinity() noexcept { return T(); }
};

class exception {
 public:
  exception() noexcept;
  exception(const exception&) noexcept;
  virtual ~exception();
  virtual const char* what() const noexcept;
};
class bad_alloc : public exception {};
class runtime_error : public exception {
 public:
  explicit runtime_error(const char* what);
  explicit runtime_error(const class string& what);
};
class exception_ptr {
 public:
  exception_ptr(nullptr_t = nullptr);
};
exception_ptr current_exception() noexcept;

class string_view;
class string {
 public:
  string();
  string(const char* text);
  string(const string&);
  string(string&&) noexcept;
  ~string();
  string& operator=(const string&);
  string& operator=(string&&) noexcept;
  bool empty() const noexcept;
};
string operator+(const string& left, const string& right);
bool operator==(const string& left, const string& right) noexcept;
string to_string(unsigned long long value);
class string_view {
 public:
  string_view(const char* text);
  string_view(const string& text);
};
class ostream;

template <class T>
class initializer_list {
 public:
  const T* begin() const noexcept;
  const T* end() const noexcept;

 private:
  const T* begin_;
  size_t size_;
};
template <class T>
class vector {
 public:
  vector();
  vector(const T* begin, const T* end);
  vector(initializer_list<T> values);
  vector(const vector&);
  vector(vector&&) noexcept;
  ~vector();
  vector& operator=(const vector&);
  vector& operator=(vector&&) noexcept;
  bool empty() const noexcept;
  size_t size() const noexcept;
  T& operator[](size_t i);
  const T& operator[](size_t i) const;
  T* begin();
  T* end();
  const T* begin() const;
  const T* end() const;
  void reserve(size_t size);
  void push_back(T value);
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments);
};
template <class T, size_t size>
class array {};
template <class T>
class complex {};
template <class T, class U>
struct pair {
  template <class A, class B>
  pair(A&& a, B&& b);
  T first;
  U second;
};
template <class Key, class T>
class map {};
template <class Key, class T>
class unordered_map {};
template <class... T>
class variant {
 public:
  template <class U>
  variant(U&& value);
};
struct nullopt_t {};
constexpr nullopt_t nullopt;
template <class T>
class optional {
 public:
  optional();
  optional(nullopt_t);
  optional(T value);
  explicit operator bool() const noexcept;
  const T& operator*() const;
  const T* operator->() const;
};
template <class T>
bool operator==(const T& left, const optional<T>& right);
template <class T>
class function;
template <class Result, class... Arguments>
class function<Result(Arguments...)> {
 public:
  function();
  template <class F>
  function(F f);
  explicit operator bool() const noexcept;
  Result operator()(Arguments... arguments) const;
};

template <class T>
class unique_ptr {
 public:
  unique_ptr(nullptr_t = nullptr) noexcept;
  unique_ptr(unique_ptr&&) noexcept;
  ~unique_ptr();
  unique_ptr& operator=(unique_ptr&&) noexcept;
  T* get() const noexcept;
  T& operator*() const;
  T* operator->() const;
};
template <class T>
class shared_ptr {
 public:
  shared_ptr();
  shared_ptr(const shared_ptr&) noexcept;
  template <class U>
  shared_ptr(const shared_ptr<U>&) noexcept;
  ~shared_ptr();
  shared_ptr& operator=(const shared_ptr&) noexcept;
  T* get() const noexcept;
  template <class U = T>
  U& operator*() const noexcept;
  T* operator->() const noexcept;
  explicit operator bool() const noexcept;
  bool operator!=(nullptr_t) const noexcept;
  long use_count() const noexcept;
};
template <class T, class... Arguments>
unique_ptr<T> make_unique(Arguments&&... arguments);
template <class T, class... Arguments>
shared_ptr<T> make_shared(Arguments&&... arguments);

enum memory_order { memory_order_relaxed };
template <class T>
class atomic {
 public:
  atomic();
  atomic(T value);
  atomic(const atomic&) = delete;
  T load(memory_order order) const noexcept;
  operator T() const noexcept;
};
class mutex {
 public:
  mutex();
  mutex(const mutex&) = delete;
};
class type_index {
 public:
  type_index(const class type_info& info) noexcept;
};

}  // namespace std
